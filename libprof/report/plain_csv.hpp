// Reports as machine-readable CSV: one line of column names, then one line per row.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::report {

// All tables of a document as one. The first column names the row's table; columns that a table
// lacks are empty in its rows. The first line thus needs all column names, so rows are held until
// the end or until there are many; after that, a table with new columns cannot follow.
class PlainCsv {
 public:
  static constexpr std::string_view document_begin = "\"table\"";

  explicit PlainCsv(std::ostream& out) : out_(out) {}

  // Starts a table with these columns. `context`: names and texts that are the same in each of its
  // rows.
  void table(std::string_view name, const std::vector<std::pair<std::string, std::string>>& context,
             const std::vector<std::string>& columns);
  // Fields must be encoded as CSV, in the order of the columns.
  void row(std::vector<std::string> fields);
  void finish();

 private:
  // Index of a column. Throws Error if it is new and the names have been printed.
  std::size_t place(const std::string& column);
  void print_names();
  void print_row(const std::vector<std::string>& fields);

  std::ostream& out_;
  std::vector<std::string> names_{"table"};
  std::map<std::string, std::size_t> places_{{"table", 0}};
  std::vector<std::string> template_;  // fields that all rows of the table share
  std::vector<std::size_t> order_;     // indices of its columns
  std::vector<std::vector<std::string>> kept_;
  std::size_t kept_bytes_ = 0;
  bool printed_ = false;  // whether the names were printed
};

// A quoted CSV field. Whatever the text contains, a CSV row stays on one line.
std::string csv_field(std::string_view text);

}  // namespace gpuprof::report
