// One table of a report: nvprof's layout as text and CSV, objects in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/report/number.hpp"
#include "libprof/report/output.hpp"

namespace gpuprof::report {

// What a column holds; it decides on unit, digits and quotes.
enum class Quantity {
  text,        // quoted in CSV
  count,       // a whole number
  bits,        // a whole number of 64 bits without a sign
  percent,     // of 100, double
  time,        // ns
  size,        // bytes
  speed,       // bytes per second
  real,        // double, six decimals
  dimensions,  // "(64 1 1)"; three columns in CSV
};

struct Column {
  std::string heading;  // text; CSV too unless there is another
  int width = 0;        // text: right-justified; 0: as it comes (names, at the end)
  Quantity quantity = Quantity::text;
  std::string csv = {};  // CSV's heading where it differs; of dimensions: before " X", " Y", " Z"
  std::string key = {};  // JSON's; columns without one are not in JSON
  // The unit of -u and CSV; times have the chosen one, others follow the largest value.
  Scale scale = {};
  bool csv_only = false;  // nvprof's Correlation_ID
  bool down = false;      // times are rounded down
};

using Dimensions = std::array<std::int64_t, 3>;

// monostate: nothing to print ("-", empty in CSV, null in JSON).
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, Dimensions>;

// Collects the largest value of each column, for the unit of -u col, CSV and sizes.
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

// Rows go out at once. The heading is printed with the first row, or by heading().
class Table {
 public:
  // `name` is JSON's. Scales must be set when units are fixed: fixed_units().
  Table(Output& output, std::string name, std::vector<Column> columns);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void heading();
  void row(std::span<const Cell> cells);
  // No line of units, where there would be one.
  void without_units() { has_units_ = false; }
  // What text prints for an empty cell.
  void nothing(std::string text) { nothing_ = std::move(text); }

  // Whether cells have no unit of their own, so that columns need scales: CSV and -u.
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
  std::vector<std::string> keys_;  // JSON's, ready to print; "" for a column that is left out
  std::string line_;               // the one that is being made
  std::string nothing_ = "-";
  bool has_units_ = true;
  bool headed_ = false;
  bool any_row_ = false;
};

// A whole table that is in memory already: sets the scales by its rows and prints it.
void print_table(Output& output, std::string name, std::vector<Column> columns,
                 const std::vector<std::vector<Cell>>& rows, std::string nothing = "-");

}  // namespace gpuprof::report
