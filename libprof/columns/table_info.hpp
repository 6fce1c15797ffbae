// What columns hold, by the schema: never by what is found in a file.
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
  name,         // a StringTable id, 32 bits: the table is the dictionary
  enumeration,  // a number, 32 bits, that ENUM_NAME has a name for
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
  std::vector<ColumnInfo> columns;  // as in a new file, _id_ and processId included

  const ColumnInfo* find(std::string_view column) const;  // in any case of letters; or nullptr
};

// All of the schema.
std::span<const TableInfo> tables();
const TableInfo* find_table(std::string_view name);  // in any case of letters; or nullptr

}  // namespace gpuprof::columns
