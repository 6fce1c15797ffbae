#include "libprof/report/table.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::report {
namespace {

bool scaled(Quantity quantity) {
  return quantity == Quantity::time || quantity == Quantity::size || quantity == Quantity::speed;
}

NumberFormat format_of(Quantity quantity) {
  return quantity == Quantity::speed ? speed_format : time_format;
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

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
    : output_(output), name_(std::move(name)), columns_(std::move(columns)) {}

Table::~Table() {
  if (headed_ && output_.json()) output_.end_json_table();
}

// Right-justified, two blanks between; what is longer than its column shifts the rest of the line.
// Nothing is padded behind the last cell that has text.
void Table::text_line(std::span<const std::string> cells) {
  std::size_t count = cells.size();
  while (count > 0 && cells[count - 1].empty()) --count;
  std::ostream& out = output_.stream();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out << "  ";
    const auto width = static_cast<std::size_t>(columns_[i].width);
    for (std::size_t pad = cells[i].size(); pad < width; ++pad) out << ' ';
    out << cells[i];
  }
  out << '\n';
}

void Table::heading() {
  if (headed_) return;
  headed_ = true;
  if (output_.json()) {
    output_.begin_json_table(name_);
    return;
  }
  if (output_.text()) {
    std::erase_if(columns_, [](const Column& column) { return column.csv_only; });
    std::vector<std::string> cells;
    for (const Column& column : columns_) cells.push_back(column.heading);
    text_line(cells);
    if (!fixed_units(output_)) return;
    cells.clear();
    for (const Column& column : columns_) cells.emplace_back(unit_of(column));
    text_line(cells);
    return;
  }
  std::string names, units;
  for (const Column& column : columns_) {
    const std::string_view comma = names.empty() ? "" : ",";
    const std::string& name = column.csv.empty() ? column.heading : column.csv;
    if (column.quantity == Quantity::dimensions) {
      names.append(comma).append(quoted(name + " X")).append(",");
      names.append(quoted(name + " Y")).append(",").append(quoted(name + " Z"));
      units.append(comma).append(",,");
    } else {
      names.append(comma).append(quoted(name));
      units.append(comma).append(unit_of(column));
    }
  }
  output_.stream() << names << '\n' << units << '\n';
}

std::string Table::text_cell(const Column& column, const Cell& cell) const {
  if (std::holds_alternative<std::monostate>(cell)) return nothing_;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* size = std::get_if<Dimensions>(&cell)) {
    return "(" + std::to_string((*size)[0]) + " " + std::to_string((*size)[1]) + " " +
           std::to_string((*size)[2]) + ")";
  }
  const bool fixed = fixed_units(output_);
  if (const auto* real = std::get_if<double>(&cell)) {
    if (column.quantity != Quantity::percent) return format_fixed(*real);
    return fixed ? format_fixed(*real, 2) : format_percent(*real);
  }
  const std::int64_t number = std::get<std::int64_t>(cell);
  if (!scaled(column.quantity)) return std::to_string(number);
  const std::uint64_t value = positive(number);
  if (fixed) return format_scaled(value, column.scale, format_of(column.quantity));
  if (column.quantity == Quantity::time) return format_time(value);
  return column.quantity == Quantity::size ? format_size(value) : format_speed(value);
}

void Table::csv_cell(const Column& column, const Cell& cell) {
  std::ostream& out = output_.stream();
  if (std::holds_alternative<std::monostate>(cell)) {
    if (column.quantity == Quantity::dimensions) out << ",,";
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    out << quoted(*text);
  } else if (const auto* size = std::get_if<Dimensions>(&cell)) {
    out << (*size)[0] << ',' << (*size)[1] << ',' << (*size)[2];
  } else if (const auto* real = std::get_if<double>(&cell)) {
    out << format_fixed(*real);
  } else {
    const std::int64_t number = std::get<std::int64_t>(cell);
    // Small values of the base unit stay whole.
    const bool whole = !scaled(column.quantity) || (column.scale.factor == 1 && number < 1000);
    if (whole) {
      out << number;
    } else {
      out << format_fixed(static_cast<double>(number) * column.scale.factor);
    }
  }
}

void Table::json_row(std::span<const Cell> cells) {
  std::ostream& out = output_.stream();
  out << (any_row_ ? ",\n{" : "\n{");
  bool first = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns_[i].key.empty()) continue;
    out << (first ? "" : ",") << json_string(columns_[i].key) << ':';
    first = false;
    const Cell& cell = cells[i];
    if (const auto* text = std::get_if<std::string>(&cell)) {
      out << json_string(*text);
    } else if (const auto* size = std::get_if<Dimensions>(&cell)) {
      out << '[' << (*size)[0] << ',' << (*size)[1] << ',' << (*size)[2] << ']';
    } else if (const auto* real = std::get_if<double>(&cell)) {
      out << format_fixed(*real);
    } else if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      out << *number;
    } else {
      out << "null";
    }
  }
  out << '}';
}

void Table::row(std::span<const Cell> cells) {
  heading();
  if (output_.json()) {
    json_row(cells);
  } else if (output_.text()) {
    std::vector<std::string> texts;
    texts.reserve(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i)
      texts.push_back(text_cell(columns_[i], cells[i]));
    text_line(texts);
  } else {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) output_.stream() << ',';
      csv_cell(columns_[i], cells[i]);
    }
    output_.stream() << '\n';
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
