// Copied from cmake/views.hpp.in; the text of schema/views/*.sql is embedded by the build.
#pragma once

#include <span>
#include <string_view>

namespace gpuprof::schema {

struct ViewSql {
  std::string_view name;  // the file's name without .sql
  std::string_view sql;   // its text, unchanged
};

// In the order of the file names.
std::span<const ViewSql> views();

}  // namespace gpuprof::schema
