// What a table of the database is: columns with a type, a width on the wire, a role and a doc.
// Data only. Everything that reads or writes rows derives from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

// What numbers of a column count or measure. Ids, names, enums, flags, addresses and plain numbers
// have no unit.
inline constexpr std::string_view units[]{
    "count",  // of things: blocks, calls, …
    "ns",    "us",  "ms",  "bytes", "bytes/s", "kB/s", "GT/s",
    "Hz",    "kHz", "MHz", "mW",    "Celsius", "%",
    "share",  // from 0 to 1
};

constexpr bool is_unit(std::string_view text) {
  for (const std::string_view unit : units) {
    if (unit == text) return true;
  }
  return false;
}

// The doc of a column as it is written and as it travels: "[ns] start on the GPU", or without the
// brackets where there is no unit.
struct WrittenDoc {
  std::string_view unit;  // empty: none
  std::string_view text;
};

// What is no unit in brackets in front is text. By index: with UBSan, GCC 12 does not search in a
// constant.
constexpr WrittenDoc read_doc(std::string_view written) {
  if (written.empty() || written[0] != '[') return {{}, written};
  std::size_t end = 1;
  while (end < written.size() && written[end] != ']') ++end;
  if (end + 1 >= written.size() || written[end + 1] != ' ') return {{}, written};
  const std::string_view unit = written.substr(1, end - 1);
  if (!is_unit(unit)) return {{}, written};
  return {unit, written.substr(end + 2)};
}

// The same of a literal. A unit that is not in the list does not compile.
struct Doc : WrittenDoc {
  // Implicit: a literal stands where a doc is asked for.
  consteval Doc(const char* written) : WrittenDoc(read_doc(written)) {
    if (unit.empty() && written[0] == '[') throw "no unit of the list above";
  }
};

struct Column {
  std::string_view name;
  Type type{};
  std::uint16_t width{};  // bytes in a packed row
  Role role{};
  std::string_view doc;        // meaning, and what stands for none
  std::string_view unit = {};  // one of `units`; empty: none
};

// What read_doc() reads.
inline std::string written_doc(const Column& column) {
  return column.unit.empty() ? std::string(column.doc)
                             : "[" + std::string(column.unit) + "] " + std::string(column.doc);
}

// A column of a table whose rows are not packed.
constexpr Column stored(std::string_view name, Type type, const WrittenDoc& doc) {
  return {.name = name,
          .type = type,
          .width = width_of(type),
          .role = Role::plain,
          .doc = doc.text,
          .unit = doc.unit};
}
constexpr Column stored(std::string_view name, Type type, Doc doc) {
  return stored(name, type, static_cast<const WrittenDoc&>(doc));
}

// What work of a GPU is, in summaries, traces, windows, excerpts, beside NVTX ranges, and in the
// view gpu_activities. Its times are in the columns start and end or stop; where it ran and who
// asked for it, in the columns of the usual names.
struct GpuWork {
  std::string_view type;  // as gpu_activities says
  // Column that tells what a row is called; empty: all rows are called `name`.
  std::string_view named_by = {};
  // Enum of the numbers in that column, whose name stands for the * in `name`; empty: they are ids
  // of StringTable.
  std::string_view named = {};
  std::string_view name = {};
  std::string_view bytes = {};  // column with how much it moved; empty: there is none
};

// What a table's rows are besides rows: what shows and filters them goes by it.
struct Traits {
  std::optional<GpuWork> gpu_work = {};
  // Calls of the CUDA API: which, as the view api_calls says; empty: none.
  std::string_view api = {};
  // nvprof reported them: they are in its sums and traces, and times of a run count from the
  // earliest of such rows.
  bool nvprofs = false;
};

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
  Traits traits = {};
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

// Calls visit(column) for each column as it stands in the database.
template <class Visit>
constexpr void for_each_column(const Table& table, bool with_process, Visit&& visit) {
  if (!table.row_doc.empty()) {
    visit(Column{.name = row_id, .type = Type::integer, .doc = table.row_doc});
  }
  for (const Column& column : table.columns) visit(column);
  if (with_process && table.with_process && !has_column(table, process_column)) {
    visit(Column{.name = process_column, .type = Type::i64, .doc = process_doc});
  }
}

constexpr std::size_t row_width(std::span<const Column> columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width;
  return width;
}

}  // namespace gpuprof::schema
