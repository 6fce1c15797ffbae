// Places in the code where something was sampled or counted: functions, source lines and addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/report/report_table.hpp"
#include "libprof/report/session.hpp"
#include "libprof/report/source_text.hpp"

namespace gpuprof::report {

// The row limit of a text list: --top, or 10.
std::size_t most_rows(const Session& session);
// "  and 7 more functions (--top N)", unless all are printed. `one` and `several`: the noun.
void say_of_the_rest(Output& output, std::size_t all, std::size_t printed, const char* one,
                     const char* several);

// `part` as a percentage of `all`; 0 if `all` is 0.
double percent(std::int64_t part, std::int64_t all);

// Function names from table FUNCTION.
class FunctionNames {
 public:
  explicit FunctionNames(Session& session);

  // The name's string id; 0 if unknown.
  std::int64_t name(std::int64_t process, std::int64_t function) const;
  // Whether --kernels selects the name.
  bool wanted(std::int64_t name);

 private:
  Session& session_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> names_;  // by process and id
  std::optional<Pattern> pattern_;                                       // nullopt: all are wanted
  std::map<std::int64_t, bool> wanted_;
};

// A source line if known, otherwise an address.
struct SourcePlace {
  std::int64_t file = 0;  // string id; 0: unknown
  std::int64_t line = 0;  // 0: unknown
  std::int64_t pc = 0;    // [bytes] from the function's start; 0 if the line is known

  auto operator<=>(const SourcePlace&) const = default;
};

// "/src/a.cu:12", "line 12", "+0x40". `file` is the file's name.
std::string place_text(const SourcePlace& place, const std::string& file);

// Source lines from table SOURCE_LOCATOR.
class SourcePlaces {
 public:
  explicit SourcePlaces(Session& session);

  SourcePlace find(std::int64_t locator, std::int64_t pc) const;

 private:
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> lines_;  // file and line, by id
};

// Prints places, with their source text if the user asked for it.
class PlacePrinter {
 public:
  explicit PlacePrinter(Session& session);

  std::string text(const SourcePlace& place);
  // In text: prints the source line, indented by `indent` blanks, if it is available.
  void print_source(const SourcePlace& place, std::size_t indent);
  // The columns of a place; add_source_column() appends the source text as the last one.
  static void add_columns(std::vector<Column>& columns);
  void add_cells(std::vector<Cell>& row, const SourcePlace& place);
  void add_source_column(std::vector<Column>& columns) const;
  void add_source_cell(std::vector<Cell>& row, const SourcePlace& place);
  // Warns about source files that changed after the run.
  void say_changed();

 private:
  std::string file(const SourcePlace& place);
  std::optional<std::string> source(const SourcePlace& place);

  Session& session_;
  std::optional<SourceText> source_;
};

}  // namespace gpuprof::report
