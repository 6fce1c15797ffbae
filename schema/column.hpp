// Definition of a database table: columns with a type, a width on the wire, a role and a doc. Data
// only; everything that reads or writes rows is derived from it.
#pragma once

#include <algorithm>
#include <array>
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
  string = 10,  // u32 string id of the stream; in the database a StringTable id, 0 = NULL
  blob = 11,    // `width` raw bytes
  bytes = 12,   // u32 id of a byte string of the batch; in the database a BLOB of any length
  text = 13,    // the same, as TEXT
  // Only in the database.
  integer = 0xf0,  // like i64, but declared as nvprof and SQLite's row ids require
  any = 0xf1,      // an integer or a text
};

// What the loader does with a value in addition to storing it. The numbers are part of the wire
// format.
enum class Role : std::uint8_t {
  plain = 0,
  correlation = 1,  // the loader puts the process number into the high 32 bits; 0 stays 0
  nullable = 2,     // NULL is the type's lowest value (signed) or highest (unsigned), NaN, string 0
  number = 3,       // the row's own number, column _id_
  correlation_or_null = 4,  // like correlation, but 0 means NULL
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
    case Type::blob:  // the column says how long
    case Type::integer:
    case Type::any: return 0;  // never packed
  }
  return 0;
}

// The declared type in CREATE TABLE, as nvprof declares it.
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

// The units of columns. Ids, names, enums, flags, addresses and plain numbers have none.
inline constexpr std::string_view units[]{
    "count",  // a number of things: blocks, calls, …
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

// A column's doc as written and transferred: "[ns] start on the GPU"; without brackets if it has no
// unit.
struct WrittenDoc {
  std::string_view unit;  // empty: none
  std::string_view text;
};

// Brackets that do not contain a known unit are part of the text. Uses indices because, with UBSan,
// GCC 12 cannot search in a constant expression.
constexpr WrittenDoc read_doc(std::string_view written) {
  if (written.empty() || written[0] != '[') return {{}, written};
  std::size_t end = 1;
  while (end < written.size() && written[end] != ']') ++end;
  if (end + 1 >= written.size() || written[end + 1] != ' ') return {{}, written};
  const std::string_view unit = written.substr(1, end - 1);
  if (!is_unit(unit)) return {{}, written};
  return {unit, written.substr(end + 2)};
}

// The same for a literal. An unknown unit does not compile.
struct Doc : WrittenDoc {
  // Implicit, so that a literal can be passed as a doc.
  consteval Doc(const char* written) : WrittenDoc(read_doc(written)) {
    if (unit.empty() && written[0] == '[') throw "no unit of the list above";
  }
};

struct Column {
  std::string_view name;
  Type type{};
  std::uint16_t width{};  // bytes in a packed row
  Role role{};
  std::string_view doc;        // its meaning, and which value means none
  std::string_view unit = {};  // one of `units`; empty: none
};

// The inverse of read_doc().
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

// Marks a table as GPU work: in summaries, traces, windows, excerpts, NVTX ranges, and in the view
// gpu_activities. Its times are in the columns start and end or stop; device, context, stream,
// process and correlation id in the columns with the usual names.
struct GpuWork {
  std::string_view type;  // as in gpu_activities
  // Column that determines a row's name; empty: all rows are called `name`.
  std::string_view named_by = {};
  // Enum of that column's numbers, whose name replaces the * in `name`; empty: the numbers are
  // StringTable ids.
  std::string_view named = {};
  std::string_view name = {};
  std::string_view bytes = {};  // column with the number of bytes moved; empty: none
};

// Properties of a table that determine how its rows are shown and filtered.
struct Traits {
  std::optional<GpuWork> gpu_work = {};
  // For calls of the CUDA API: which API, as in the view api_calls; empty: none.
  std::string_view api = {};
  // nvprof reported such rows: they are in its totals and traces, and a run's times count from the
  // earliest of them.
  bool nvprofs = false;
};

// The origin of a table's rows.
enum class Origin : std::uint8_t {
  activity,  // CUPTI's records, packed by collectors
  own,       // packed rows that gpuprof itself produces: schema/rows.hpp
  legacy,    // none any more: the table is nvprof's
  run,       // facts about the run and its processes, frame by frame
  computed,  // from other tables, at the end
  words,     // this build: the meanings of numbers and names
};

inline constexpr std::string_view row_id = "_id_";
inline constexpr std::string_view row_id_doc = "number of the row, in order of storing";

// The rows of all processes of a run are in one file.
inline constexpr std::string_view process_column = "processId";
inline constexpr std::string_view process_doc = "process the row came from: PROCESS.processId";

// Packed rows have fixed width: columns in order, without padding.
struct Table {
  std::string_view name;
  std::string_view doc;
  std::span<const Column> columns;  // without _id_, and without an added processId
  Origin origin = Origin::activity;
  int kind = 0;                   // CUpti_ActivityKind; 0: none
  std::string_view row_doc = {};  // of _id_, the first column; empty: no such column
  // Appends the column processId, unless `columns` already has it. nvprof's files lack it.
  bool with_process = false;
  std::string_view key = {};         // columns of the primary key, if it is not _id_
  std::string_view constraint = {};  // on the whole table
  bool without_rowid = false;        // rows are stored in primary-key order
  bool is_view = false;              // an empty view replaces the table
  Traits traits = {};
};

// Lists of tables as one.
template <std::size_t... Sizes>
constexpr auto joined(const std::array<const Table*, Sizes>&... lists) {
  std::array<const Table*, (Sizes + ...)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// Whether collectors may send rows of it.
constexpr bool takes_records(const Table& table) {
  return (table.origin == Origin::activity || table.origin == Origin::legacy) && !table.is_view;
}

constexpr bool has_column(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return true;
  }
  return false;
}

// Calls visit(column) for each column as it is in the database.
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
