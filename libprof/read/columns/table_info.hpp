// What columns hold according to the schema, regardless of a file's contents.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpuprof::columns {

enum class Type : std::uint8_t {
  int64,
  int32,
  float64,
  boolean,
  name,         // 32-bit StringTable id: that table is the dictionary
  enumeration,  // 32-bit number with a name in ENUM_NAME
  text,
  blob,
};

struct ColumnInfo {
  std::string_view name;
  Type type{};
  std::string_view enum_name = {};  // Type::enumeration: ENUM_NAME.enum
};

struct TableInfo {
  std::string_view name;
  std::vector<ColumnInfo> columns;  // as in a new file, including _id_ and processId

  const ColumnInfo* find(std::string_view column) const;  // case-insensitive; null if missing
};

// All tables of the schema.
std::span<const TableInfo> tables();
const TableInfo* find_table(std::string_view name);  // case-insensitive; null if missing

}  // namespace gpuprof::columns
