// What a table of the database is: columns with a type, a width on the wire, a role and a doc.
// Data only. Everything that reads or writes rows derives from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuprof::schema {

// How a value is stored in a packed row. The numbers are part of the wire format.
enum class Type : std::uint8_t {
  i8 = 1,
  u8 = 2,
  i16 = 3,
  u16 = 4,
  i32 = 5,
  u32 = 6,
  i64 = 7,
  u64 = 8,
  f64 = 9,
  string = 10,  // u32 string id of the stream; a StringTable id in the database, 0 = NULL
  blob = 11,    // `width` raw bytes
  bytes = 12,   // u32 id of a byte string of the stream; a BLOB of its own length in the database
};

// What the loader does with a value besides storing it. The numbers are part of the wire format.
enum class Role : std::uint8_t {
  plain = 0,
  correlation = 1,  // gets the process's number in the high 32 bits, 0 stays 0
  nullable = 2,     // the type's lowest value (signed) or highest (unsigned) or NaN means NULL
};

constexpr std::uint16_t width_of(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8: return 1;
    case Type::i16:
    case Type::u16: return 2;
    case Type::i32:
    case Type::u32:
    case Type::string:
    case Type::bytes: return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64: return 8;
    case Type::blob: return 0;  // the column says
  }
  return 0;
}

// The type a column is declared with in CREATE TABLE, as nvprof declares it.
constexpr std::string_view sql_type(Type type) {
  switch (type) {
    case Type::f64: return "REAL";
    case Type::blob:
    case Type::bytes: return "BLOB";
    default: return "INT";
  }
}

struct Column {
  std::string_view name;
  Type type{};
  std::uint16_t width{};  // bytes in a packed row
  Role role{};
  std::string_view doc;  // meaning, and the unit where there is one
};

// One table that rows are packed for. Rows are fixed-width, columns in order, no padding.
struct Table {
  std::string_view name;
  std::string_view doc;
  std::span<const Column> columns;
};

constexpr std::size_t row_width(std::span<const Column> columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width;
  return width;
}

}  // namespace gpuprof::schema
