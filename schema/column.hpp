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
  bytes = 12,   // u32 id of a byte string of the batch; a BLOB of its own length in the database
  text = 13,    // the same, but a TEXT
  // In the database only.
  integer = 0xf0,  // as i64, declared as nvprof and SQLite's row ids want it
  any = 0xf1,      // an integer or a text
};

// What the loader does with a value besides storing it. The numbers are part of the wire format.
enum class Role : std::uint8_t {
  plain = 0,
  correlation = 1,  // gets the process's number in the high 32 bits, 0 stays 0
  nullable = 2,     // the type's lowest value (signed) or highest (unsigned), NaN, string 0: NULL
  number = 3,       // the row's own number, column _id_
  correlation_or_null = 4,  // as correlation, but 0 means NULL
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
    case Type::bytes:
    case Type::text: return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64: return 8;
    case Type::blob: return 0;  // the column says
    case Type::integer:
    case Type::any: return 0;  // in no row
  }
  return 0;
}

// The type a column is declared with in CREATE TABLE, as nvprof declares it.
constexpr std::string_view sql_type(Type type) {
  switch (type) {
    case Type::f64: return "REAL";
    case Type::blob:
    case Type::bytes: return "BLOB";
    case Type::text: return "TEXT";
    case Type::integer: return "INTEGER";
    case Type::any: return "";
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

// A column of a table whose rows are not packed.
constexpr Column stored(std::string_view name, Type type, std::string_view doc) {
  return {.name = name, .type = type, .width = width_of(type), .role = Role::plain, .doc = doc};
}

// Where the rows of a table come from.
enum class Origin : std::uint8_t {
  activity,  // records of CUPTI's, packed by collectors
  own,       // packed rows that gpuprof makes itself: schema/rows.hpp
  legacy,    // nobody any more: the table is nvprof's
  run,       // what is known about the run and its processes, frame by frame
  computed,  // from other tables, at the end
  words,     // this build: what numbers and names mean
};

inline constexpr std::string_view row_id = "_id_";
inline constexpr std::string_view row_id_doc = "number of the row, in order of storing";

// Rows of all processes of a run lie in one file.
inline constexpr std::string_view process_column = "processId";
inline constexpr std::string_view process_doc = "process the row came from: PROCESS.processId";

// Packed rows are fixed-width, columns in order, no padding.
struct Table {
  std::string_view name;
  std::string_view doc;
  std::span<const Column> columns;  // without _id_, and without processId where it is added
  Origin origin = Origin::activity;
  int kind = 0;                   // CUpti_ActivityKind; 0: of none
  std::string_view row_doc = {};  // of _id_, the first column; empty: there is none
  // processId is the last column, unless one of `columns` has the name. nvprof's files lack it.
  bool with_process = false;
  std::string_view key = {};         // columns of the primary key where that is not _id_
  std::string_view constraint = {};  // of the whole table
  bool without_rowid = false;        // its rows are kept in the order of the primary key
  bool is_view = false;              // an empty view has its place
};

// Whether collectors may bring rows of it.
constexpr bool takes_records(const Table& table) {
  return (table.origin == Origin::activity || table.origin == Origin::legacy) && !table.is_view;
}

constexpr bool has_column(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return true;
  }
  return false;
}

// Calls visit(name, type, doc) for each column as it stands in the database.
template <class Visit>
constexpr void for_each_column(const Table& table, bool with_process, Visit&& visit) {
  if (!table.row_doc.empty()) visit(row_id, Type::integer, table.row_doc);
  for (const Column& column : table.columns) visit(column.name, column.type, column.doc);
  if (with_process && table.with_process && !has_column(table, process_column)) {
    visit(process_column, Type::i64, process_doc);
  }
}

constexpr std::size_t row_width(std::span<const Column> columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width;
  return width;
}

}  // namespace gpuprof::schema
