#include "libprof/report/report_table.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"

namespace gpuprof::report {
namespace {

bool scaled(Quantity quantity) {
  return quantity == Quantity::time || quantity == Quantity::size || quantity == Quantity::speed;
}

NumberFormat format_of(const Column& column) {
  return column.quantity == Quantity::speed ? speed_format
         : column.down                      ? start_format
                                            : time_format;
}

template <typename Number>
void append_decimal(std::string& text, Number number) {
  std::array<char, 24> digits{};
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// Signed or unsigned, depending on the column.
void append_whole(std::string& text, std::int64_t number, Quantity quantity) {
  if (quantity == Quantity::bits) {
    append_decimal(text, static_cast<std::uint64_t>(number));
  } else {
    append_decimal(text, number);
  }
}

void append_dimensions(std::string& text, const Dimensions& size, char between) {
  append_decimal(text, size[0]);
  append_decimal(text += between, size[1]);
  append_decimal(text += between, size[2]);
}

std::string_view unit_of(const Column& column) {
  return column.quantity == Quantity::percent ? "%" : column.scale.unit;
}

std::uint64_t positive(std::int64_t value) {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

}  // namespace

void Largest::add(std::span<const Cell> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (const auto* value = std::get_if<std::int64_t>(&row[i])) add(i, positive(*value));
  }
}

void Largest::set_scales(std::span<Column> columns, const Output& output) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    switch (columns[i].quantity) {
      case Quantity::time: {
        const bool chosen = output.unit() != Unit::automatic && output.unit() != Unit::column;
        columns[i].scale = chosen ? time_scale(output.unit()) : time_scale(values_[i]);
        break;
      }
      case Quantity::size: columns[i].scale = size_scale(values_[i]); break;
      case Quantity::speed: columns[i].scale = speed_scale(values_[i]); break;
      default: break;
    }
  }
}

Table::Table(Output& output, std::string name, std::vector<Column> columns)
    : output_(output), name_(std::move(name)), columns_(std::move(columns)) {
  for (const Column& column : columns_) {
    keys_.push_back(column.key.empty() ? "" : json_string(column.key) + ":");
  }
}

Table::~Table() {
  if (headed_ && output_.json()) output_.end_json_table();
}

// Right-justified; longer text shifts the rest of the line.
void Table::pad(std::size_t begin, int width) {
  const std::size_t length = line_.size() - begin;
  if (length < static_cast<std::size_t>(width)) {
    line_.insert(begin, static_cast<std::size_t>(width) - length, ' ');
  }
}

// Two blanks between cells, and nothing after the last cell with text.
template <typename Append>
void Table::text_line(std::size_t cells, Append append) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    if (i > 0) line_ += "  ";
    const std::size_t begin = line_.size();
    append(i);
    const bool empty = line_.size() == begin;
    pad(begin, columns_[i].width);
    if (!empty) end = line_.size();
  }
  line_.resize(end);
}

void Table::end_line() {
  line_ += '\n';
  output_.row(line_);
  line_.clear();
}

void Table::heading() {
  if (headed_) return;
  headed_ = true;
  if (output_.json()) return output_.begin_json_table(name_);
  if (output_.keyed()) return output_.begin_plain_table(name_, plain_columns());
  if (output_.text()) {
    std::erase_if(columns_, [](const Column& column) { return column.csv_only; });
    text_line(columns_.size(),
              [&](std::size_t i) { append_printable(line_, columns_[i].heading); });
    end_line();
    if (!fixed_units(output_) || !has_units_) return;
    text_line(columns_.size(), [&](std::size_t i) { line_ += unit_of(columns_[i]); });
    end_line();
    return;
  }
  std::string units;
  for (const Column& column : columns_) {
    const std::string_view comma = line_.empty() ? "" : ",";
    const std::string& name = column.csv.empty() ? column.heading : column.csv;
    if (column.quantity == Quantity::dimensions) {
      line_.append(comma).append(csv_field(name + " X")).append(",");
      line_.append(csv_field(name + " Y")).append(",").append(csv_field(name + " Z"));
      units.append(comma).append(",,");
    } else {
      line_.append(comma).append(csv_field(name));
      units.append(comma).append(unit_of(column));
    }
  }
  end_line();
  if (!has_units_) return;
  line_ = std::move(units);
  end_line();
}

void Table::text_cell(const Column& column, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) {
    line_ += nothing_;
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    append_printable(line_, *text);
  } else if (const auto* size = std::get_if<Dimensions>(&cell)) {
    line_ += '(';
    append_dimensions(line_, *size, ' ');
    line_ += ')';
  } else if (const auto* real = std::get_if<double>(&cell)) {
    const bool percent = column.quantity == Quantity::percent;
    line_ += !percent               ? format_fixed(*real)
             : fixed_units(output_) ? format_fixed(*real, 2)
                                    : format_percent(*real);
  } else {
    const std::int64_t number = std::get<std::int64_t>(cell);
    const std::uint64_t value = positive(number);
    if (!scaled(column.quantity)) {
      append_whole(line_, number, column.quantity);
    } else if (fixed_units(output_)) {
      line_ += format_scaled(value, column.scale, format_of(column));
    } else if (column.quantity == Quantity::time) {
      line_ +=
          number < 0 && column.down ? format_moment(number) : format_time(value, format_of(column));
    } else {
      line_ += column.quantity == Quantity::size ? format_size(value) : format_speed(value);
    }
  }
}

void Table::csv_cell(const Column& column, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) {
    if (column.quantity == Quantity::dimensions) line_ += ",,";
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    line_ += csv_field(*text);
  } else if (const auto* size = std::get_if<Dimensions>(&cell)) {
    append_dimensions(line_, *size, ',');
  } else if (const auto* real = std::get_if<double>(&cell)) {
    line_ += format_fixed(*real);
  } else {
    std::int64_t number = std::get<std::int64_t>(cell);
    // Seconds are printed in microseconds, other units in full.
    if (column.down && column.scale.factor < 1e-6) number -= number % 1000;
    // Small values in the base unit stay whole, except nvprof's throughputs.
    const bool whole = !scaled(column.quantity) || (column.quantity != Quantity::speed &&
                                                    column.scale.factor == 1 && number < 1000);
    if (whole) {
      append_whole(line_, number, column.quantity);
    } else {
      line_ += format_fixed(static_cast<double>(number) * column.scale.factor);
    }
  }
}

void Table::json_cells(std::span<const Cell> cells) {
  line_ += any_row_ ? ",\n{" : "\n{";
  bool first = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (keys_[i].empty()) continue;
    if (!first) line_ += ',';
    first = false;
    line_ += keys_[i];
    const Cell& cell = cells[i];
    if (const auto* text = std::get_if<std::string>(&cell)) {
      line_ += json_string(*text);
    } else if (const auto* size = std::get_if<Dimensions>(&cell)) {
      line_ += '[';
      append_dimensions(line_, *size, ',');
      line_ += ']';
    } else if (const auto* real = std::get_if<double>(&cell)) {
      line_ += std::isfinite(*real) ? format_fixed(*real) : "null";
    } else if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      append_whole(line_, *number, columns_[i].quantity);
    } else {
      line_ += "null";
    }
  }
  line_ += '}';
}

std::vector<std::string> Table::plain_columns() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) {
    if (column.key.empty()) continue;
    if (column.quantity != Quantity::dimensions) {
      names.push_back(column.key);
      continue;
    }
    for (const char* axis : {"_x", "_y", "_z"}) names.push_back(column.key + axis);
  }
  return names;
}

void Table::plain_row(std::span<const Cell> cells) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = columns_[i];
    if (column.key.empty()) continue;
    std::string field;
    if (column.quantity == Quantity::dimensions) {
      const auto* size = std::get_if<Dimensions>(&cells[i]);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        fields.push_back(size ? std::to_string((*size)[axis]) : "");
      }
      continue;
    }
    if (const auto* text = std::get_if<std::string>(&cells[i])) {
      field = csv_field(*text);
    } else if (const auto* real = std::get_if<double>(&cells[i])) {
      if (std::isfinite(*real)) field = format_fixed(*real);
    } else if (const auto* number = std::get_if<std::int64_t>(&cells[i])) {
      append_whole(field, *number, column.quantity);
    }
    fields.push_back(std::move(field));
  }
  output_.plain_.row(std::move(fields));
}

void Table::row(std::span<const Cell> cells) {
  heading();
  if (output_.layout() == Layout::plain_csv) {
    plain_row(cells);
  } else if (output_.json()) {
    json_cells(cells);
    output_.row(line_);
    line_.clear();
  } else if (output_.text()) {
    text_line(columns_.size(), [&](std::size_t i) { text_cell(columns_[i], cells[i]); });
    end_line();
  } else {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line_ += ',';
      csv_cell(columns_[i], cells[i]);
    }
    end_line();
  }
  any_row_ = true;
}

void print_table(Output& output, std::string name, std::vector<Column> columns,
                 const std::vector<std::vector<Cell>>& rows, std::string nothing) {
  Largest largest(columns.size());
  for (const auto& row : rows) largest.add(row);
  largest.set_scales(columns, output);
  Table table(output, std::move(name), std::move(columns));
  table.nothing(std::move(nothing));
  for (const auto& row : rows) table.row(row);
}

}  // namespace gpuprof::report
