// nvprof's tables: right-justified columns two spaces apart, the last one (the name) as it comes.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace gpuprof::report {

struct TableColumn {
  std::string_view heading;
  int width;  // of the last column: not looked at
};

// What is longer than its column is printed in full and shifts the rest of its line, as in nvprof.
void print_heading(std::ostream& out, std::span<const TableColumn> columns);
void print_row(std::ostream& out, std::span<const TableColumn> columns,
               std::span<const std::string> cells);

}  // namespace gpuprof::report
