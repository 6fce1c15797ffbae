// What this build knows of tables and views by their names: docs, units, and what their columns
// hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/columns/table_info.hpp"

namespace gpuprof::c_api {

struct KnownColumn {
  std::string name;
  std::optional<Kind> kind;  // none: it is known when it was read
  std::string doc, unit;
};

struct KnownTable {
  std::string name;
  std::string doc;
  bool is_view = false;
  std::vector<KnownColumn> columns;

  const KnownColumn* find(std::string_view column) const;  // in any case of letters; or nullptr
};

// All of the schema: tables as columns::tables() has them, and views.
std::span<const KnownTable> known_tables();
const KnownTable* find_known(std::string_view name);  // in any case of letters; or nullptr

// Of columns of tables, as streams have them.
Kind kind_of(columns::Type type, bool raw);

}  // namespace gpuprof::c_api
