// Output of reports: lines and tables as text, CSV or one JSON document.
//
// JSON contains only tables and warnings; headings are for people. The document is written while
// the report runs, and is complete after finish().
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
  Output(std::ostream& stream, const ReportOptions& options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Prints the text as it is, with a newline. Does nothing if keyed().
  void line(std::string_view text = {});
  // Prints the text after nvprof's "======== ", in bold on a terminal. Does nothing if keyed().
  void heading(std::string_view text);
  // "======== Warning: …". In JSON an entry of "warnings"; with plain CSV it goes to standard
  // error. `more` follows without a prefix.
  void warning(std::string_view text, std::string_view more = {});
  // "======== Error: …", for a report that cannot be produced. In JSON an entry of "warnings".
  void error(std::string_view text);
  // If keyed(): sets the members that the following tables have, until the next call: ("device",
  // "0").
  void context(std::vector<std::pair<std::string, std::string>> members);

  // Shows a slow step, on a terminal and only after a second; the next printed line erases it.
  void progress(std::string_view what);

  // Ends the document. Nothing may follow.
  void finish();

  Layout layout() const { return layout_; }
  Unit unit() const { return unit_; }
  void use(Unit unit) { unit_ = unit; }
  bool json() const { return layout_ == Layout::json; }
  // Machine-readable: only tables, with keys for columns and values in base units.
  bool keyed() const { return json() || layout_ == Layout::plain_csv; }
  bool csv() const { return layout_ == Layout::csv; }
  bool text() const { return layout_ == Layout::text; }
  // For output that line() cannot print. Everything printed so far has been written to the stream.
  std::ostream& stream();

 private:
  friend class Table;
  // Rows are written in batches, since the stream may not be buffered.
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

}  // namespace gpuprof::report
