// One table of a report: nvprof's layout as text and CSV, objects in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "libprof/report/number.hpp"
#include "libprof/report/output.hpp"

namespace gpuprof::report {

// What a column holds; determines unit, digits and quotes.
enum class Quantity {
  text,        // quoted in CSV
  count,       // a whole number
  bits,        // an unsigned whole number of 64 bits
  percent,     // double, 0 to 100
  time,        // ns
  size,        // bytes
  speed,       // bytes per second
  real,        // double, six decimals
  dimensions,  // "(64 1 1)"; three columns in CSV
};

struct Column {
  std::string heading;  // text, and CSV unless `csv` is set
  int width = 0;        // text: right-justified; 0: unpadded (names, at the end)
  Quantity quantity = Quantity::text;
  std::string csv = {};  // CSV's heading if it differs; dimensions: prefix of " X", " Y", " Z"
  std::string key = {};  // JSON member; columns without one are not in JSON
  // The unit with -u and in CSV: the chosen one for times, otherwise the one that fits the largest
  // value.
  Scale scale = {};
  bool csv_only = false;  // nvprof's Correlation_ID
  bool down = false;      // round times down
};

using Dimensions = std::array<std::int64_t, 3>;

// monostate: no value ("-", empty in CSV, null in JSON).
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, Dimensions>;

// Tracks the largest value of each column, which determines the unit with -u col, in CSV and of
// sizes.
class Largest {
 public:
  explicit Largest(std::size_t columns) : values_(columns) {}
  void add(std::size_t column, std::uint64_t value) {
    if (value > values_[column]) values_[column] = value;
  }
  void add(std::span<const Cell> row);
  // Sets the scales of `columns` for this layout and unit.
  void set_scales(std::span<Column> columns, const Output& output) const;

 private:
  std::vector<std::uint64_t> values_;
};

// Rows are printed at once. The heading is printed with the first row, or by heading().
class Table {
 public:
  // `name` is for JSON. Scales must be set if fixed_units().
  Table(Output& output, std::string name, std::vector<Column> columns);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void heading();
  void row(std::span<const Cell> cells);
  // Omits the line of units.
  void without_units() { has_units_ = false; }
  // What text prints for an empty cell.
  void nothing(std::string text) { nothing_ = std::move(text); }

  // Whether units are per column instead of per cell, so that columns need scales: CSV and -u.
  static bool fixed_units(const Output& output) {
    return output.csv() || (output.text() && output.unit() != Unit::automatic);
  }

 private:
  // Each appends to line_.
  void pad(std::size_t begin, int width);
  void text_cell(const Column& column, const Cell& cell);
  void csv_cell(const Column& column, const Cell& cell);
  void json_cells(std::span<const Cell> cells);
  std::vector<std::string> plain_columns() const;
  void plain_row(std::span<const Cell> cells);
  template <typename Append>
  void text_line(std::size_t cells, Append append);
  void end_line();

  Output& output_;
  std::string name_;
  std::vector<Column> columns_;
  std::vector<std::string> keys_;  // JSON members, ready to print; "" for an omitted column
  std::string line_;               // the line being built
  std::string nothing_ = "-";
  bool has_units_ = true;
  bool headed_ = false;
  bool any_row_ = false;
};

// Prints a table that is already in memory, with scales that fit its rows.
void print_table(Output& output, std::string name, std::vector<Column> columns,
                 const std::vector<std::vector<Cell>>& rows, std::string nothing = "-");

}  // namespace gpuprof::report
