// Reports as CSV for programs: one line of names, then a line for each row.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::report {

// All tables of a document as one. The first column says which table a row is of; a column that a
// table lacks is empty in its rows. So the first line needs the names of all columns, and rows are
// kept until the end, or until there are many of them: then a table with other columns than those
// so far cannot follow.
class PlainCsv {
 public:
  static constexpr std::string_view document_begin = "\"table\"";

  explicit PlainCsv(std::ostream& out) : out_(out) {}

  // The rows that follow are of this table and have these columns. `context`: names and texts that
  // stand in each of them.
  void table(std::string_view name, const std::vector<std::pair<std::string, std::string>>& context,
             const std::vector<std::string>& columns);
  // Fields as CSV has them, in the order of the columns.
  void row(std::vector<std::string> fields);
  void finish();

 private:
  // Place of a column. Throws Error if it is new and the names were printed.
  std::size_t place(const std::string& column);
  void print_names();
  void print_row(const std::vector<std::string>& fields);

  std::ostream& out_;
  std::vector<std::string> names_{"table"};
  std::map<std::string, std::size_t> places_{{"table", 0}};
  std::vector<std::string> template_;  // fields that all rows of the table share
  std::vector<std::size_t> order_;     // places of its columns
  std::vector<std::vector<std::string>> kept_;
  std::size_t kept_bytes_ = 0;
  bool printed_ = false;  // the names
};

// A text as a field, in quotes. A line of CSV is a line, whatever a name has in it.
std::string csv_field(std::string_view text);

}  // namespace gpuprof::report
