// What this build knows about tables and views by name: docs, units and column types.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/read/columns/table_info.hpp"

namespace gpuprof::c_api {

struct KnownColumn {
  std::string name;
  std::optional<Kind> kind;  // nullopt: known only after reading
  std::string doc, unit;
};

struct KnownTable {
  std::string name;
  std::string doc;
  bool is_view = false;
  std::vector<KnownColumn> columns;

  const KnownColumn* find(std::string_view column) const;  // ignores case; nullptr if none
};

// All tables of the schema, as columns::tables() lists them, and its views.
std::span<const KnownTable> known_tables();
const KnownTable* find_known(std::string_view name);  // ignores case; nullptr if none

// The type that a table's column has in a stream.
Kind kind_of(columns::Type type, bool raw);

}  // namespace gpuprof::c_api
