#include "libprof/report/table.hpp"

#include <cstddef>

namespace gpuprof::report {
namespace {

void print_cell(std::ostream& out, std::span<const TableColumn> columns, std::size_t index,
                std::string_view text) {
  const bool last = index + 1 == columns.size();
  const auto width = static_cast<std::size_t>(columns[index].width);
  if (index > 0) out << "  ";
  if (!last && text.size() < width) out << std::string(width - text.size(), ' ');
  out << text;
  if (last) out << '\n';
}

}  // namespace

void print_heading(std::ostream& out, std::span<const TableColumn> columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) print_cell(out, columns, i, columns[i].heading);
}

void print_row(std::ostream& out, std::span<const TableColumn> columns,
               std::span<const std::string> cells) {
  for (std::size_t i = 0; i < columns.size(); ++i) print_cell(out, columns, i, cells[i]);
}

}  // namespace gpuprof::report
