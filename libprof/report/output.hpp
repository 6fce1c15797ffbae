// Where reports go: lines and tables, as text, CSV or one JSON document.
//
// In JSON only tables and warnings come out; headings are for people. The document is written while
// the report runs and is complete when finish() was called.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/report/options.hpp"
#include "libprof/report/plain_csv.hpp"

namespace gpuprof::report {

class Output {
 public:
  Output(std::ostream& stream, const Options& options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // As it is, with a newline. Nothing if keyed().
  void line(std::string_view text = {});
  // With nvprof's "======== " before it, bold on a terminal. Nothing if keyed().
  void heading(std::string_view text);
  // "======== Warning: …". In JSON an entry of "warnings", beside plain CSV on
  // standard error. `more` has no prefix of its own.
  void warning(std::string_view text, std::string_view more = {});
  // "======== Error: …", for a report that cannot be made. In JSON an entry of "warnings".
  void error(std::string_view text);
  // If keyed(): members that the tables which follow have until they are set again: ("device",
  // "0").
  void context(std::vector<std::pair<std::string, std::string>> members);

  // What takes long, on a terminal and after a second; goes away with the next line printed.
  void progress(std::string_view what);

  // Ends the document. Nothing else may follow.
  void finish();

  Layout layout() const { return layout_; }
  Unit unit() const { return unit_; }
  void use(Unit unit) { unit_ = unit; }
  bool json() const { return layout_ == Layout::json; }
  // For programs: nothing but tables, whose columns have keys and values no chosen unit.
  bool keyed() const { return json() || layout_ == Layout::plain_csv; }
  bool csv() const { return layout_ == Layout::csv; }
  bool text() const { return layout_ == Layout::text; }
  // For what line() cannot print. What was printed before is there.
  std::ostream& stream();

 private:
  friend class Table;
  // Rows go out many at a time, as the stream may not be buffered.
  void row(std::string_view text);
  void begin_plain_table(std::string_view name, const std::vector<std::string>& columns);
  void open_json();
  void begin_json_table(std::string_view name);
  void end_json_table();

  std::ostream& stream_;
  std::string rows_;  // not yet in the stream
  PlainCsv plain_;
  Layout layout_;
  Unit unit_;
  std::string prefix_;
  bool terminal_;
  std::int64_t began_;  // ns, steady clock
  bool progress_shown_ = false;
  bool opened_ = false;
  bool finished_ = false;
  bool any_table_ = false;
  std::vector<std::pair<std::string, std::string>> context_;
  std::vector<std::string> warnings_;
};

// "\"text\"" with JSON's escapes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace gpuprof::report
