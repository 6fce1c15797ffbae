#include "libprof/store/packed_rows.hpp"

#include <sqlite3.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <new>

#include "libprof/base/error.hpp"

namespace gpuprof::store {
namespace {

// Wraps of CUPTI's correlation id counter in one process: a million launches per second make 140 in
// a week.
constexpr std::size_t most_wraps = 4096;

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

struct RowTable : sqlite3_vtab {
  RowSource* source;
};

struct RowCursor : sqlite3_vtab_cursor {
  const RowSource::Cell* cells;
  std::size_t row;
  const std::byte* bytes;
};

int connect(sqlite3* database, void*, int argc, const char* const* argv, sqlite3_vtab** table,
            char** error) {
  // argv: module, database, table, the source's address, the declaration
  if (argc != 5) {
    *error = sqlite3_mprintf("packed_rows is made by the loader only");
    return SQLITE_ERROR;
  }
  std::uintptr_t address = 0;
  std::from_chars(argv[3], argv[3] + std::strlen(argv[3]), address);
  std::string declaration(argv[4]);
  // The declaration is in single quotes and contains none.
  declaration = declaration.substr(1, declaration.size() - 2);
  const int result = sqlite3_declare_vtab(database, declaration.c_str());
  if (result != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(database));
    return result;
  }
  auto* made = new (std::nothrow) RowTable{};
  if (!made) return SQLITE_NOMEM;
  made->source = reinterpret_cast<RowSource*>(address);
  *table = made;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<RowTable*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new (std::nothrow) RowCursor{};
  return *cursor ? SQLITE_OK : SQLITE_NOMEM;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<RowCursor*>(cursor);
  return SQLITE_OK;
}

const RowSource& source_of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<RowTable*>(cursor->pVtab)->source;
}

int filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
  auto* cursor = static_cast<RowCursor*>(base);
  cursor->row = 0;
  cursor->cells = source_of(base).cells.data();
  cursor->bytes = source_of(base).rows;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* base) {
  auto* cursor = static_cast<RowCursor*>(base);
  ++cursor->row;
  cursor->bytes += source_of(base).row_width;
  return SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* base) {
  return static_cast<RowCursor*>(base)->row >= source_of(base).count;
}

template <class T>
void result_nullable(sqlite3_context* result, const std::byte* at) {
  constexpr T none =
      std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  const T value = load<T>(at);
  if (value != none) sqlite3_result_int64(result, static_cast<sqlite3_int64>(value));
}

void result_correlation(sqlite3_context* result, const RowSource& source, const std::byte* at) {
  sqlite3_result_int64(result, source.context->correlation(load<std::uint32_t>(at)));
}

void result_correlation_or_null(sqlite3_context* result, const RowSource& source,
                                const std::byte* at) {
  if (load<std::uint32_t>(at) != 0) result_correlation(result, source, at);
}

void result_string(sqlite3_context* result, const RowSource& source, const std::byte* at) {
  sqlite3_result_int64(result, source.context->string_ids.of(load<std::uint32_t>(at)));
}

void result_string_or_null(sqlite3_context* result, const RowSource& source, const std::byte* at) {
  if (load<std::uint32_t>(at) != 0) result_string(result, source, at);
}

// `id` must not be 0, which stands for NULL.
std::string_view byte_string(const RowSource& source, std::uint32_t id) {
  const auto found = source.context->byte_strings.find(id);
  // "" rather than a null pointer, which would be stored as NULL.
  return found != source.context->byte_strings.end() && !found->second.empty() ? found->second : "";
}

void result_bytes(sqlite3_context* result, const RowSource& source, const std::byte* at) {
  const auto id = load<std::uint32_t>(at);
  if (id == 0) return;
  const std::string_view bytes = byte_string(source, id);
  sqlite3_result_blob64(result, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void result_text(sqlite3_context* result, const RowSource& source, const std::byte* at) {
  const auto id = load<std::uint32_t>(at);
  if (id == 0) return;
  const std::string_view text = byte_string(source, id);
  sqlite3_result_text64(result, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

// Runs for each value of each row: a single jump; everything else was decided beforehand.
int column(sqlite3_vtab_cursor* base, sqlite3_context* result, int index) {
  const auto* cursor = static_cast<RowCursor*>(base);
  const RowSource::Cell& cell = cursor->cells[index];
  const std::byte* at = cursor->bytes + cell.offset;
  constexpr auto code = [](schema::Type type, bool nullable) {
    return static_cast<std::uint8_t>(static_cast<int>(type) | (nullable ? 0x80 : 0));
  };
  using schema::Type;
  switch (cell.how) {
    case RowSource::Cell::always_null: break;  // the default result
    case RowSource::Cell::process_id:
      sqlite3_result_int64(result, source_of(base).context->process_id);
      break;
    case RowSource::Cell::correlation: result_correlation(result, source_of(base), at); break;
    case RowSource::Cell::correlation_or_null:
      result_correlation_or_null(result, source_of(base), at);
      break;
    case code(Type::i8, false): sqlite3_result_int(result, load<std::int8_t>(at)); break;
    case code(Type::u8, false): sqlite3_result_int(result, load<std::uint8_t>(at)); break;
    case code(Type::i16, false): sqlite3_result_int(result, load<std::int16_t>(at)); break;
    case code(Type::u16, false): sqlite3_result_int(result, load<std::uint16_t>(at)); break;
    case code(Type::i32, false): sqlite3_result_int(result, load<std::int32_t>(at)); break;
    case code(Type::u32, false): sqlite3_result_int64(result, load<std::uint32_t>(at)); break;
    case code(Type::i64, false):
    case code(Type::u64, false): sqlite3_result_int64(result, load<std::int64_t>(at)); break;
    case code(Type::f64, false):  // SQLite stores NaN as NULL by itself
      sqlite3_result_double(result, load<double>(at));
      break;
    case code(Type::string, false): result_string(result, source_of(base), at); break;
    case code(Type::blob, false): sqlite3_result_blob(result, at, cell.width, SQLITE_STATIC); break;
    case code(Type::bytes, false): result_bytes(result, source_of(base), at); break;
    case code(Type::text, false): result_text(result, source_of(base), at); break;
    case code(Type::string, true): result_string_or_null(result, source_of(base), at); break;
    case code(Type::i8, true): result_nullable<std::int8_t>(result, at); break;
    case code(Type::u8, true): result_nullable<std::uint8_t>(result, at); break;
    case code(Type::i16, true): result_nullable<std::int16_t>(result, at); break;
    case code(Type::u16, true): result_nullable<std::uint16_t>(result, at); break;
    case code(Type::i32, true): result_nullable<std::int32_t>(result, at); break;
    case code(Type::u32, true): result_nullable<std::uint32_t>(result, at); break;
    case code(Type::i64, true): result_nullable<std::int64_t>(result, at); break;
    case code(Type::u64, true): result_nullable<std::uint64_t>(result, at); break;
    default: break;
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<RowCursor*>(cursor)->row);
  return SQLITE_OK;
}

constexpr sqlite3_module module = [] {
  sqlite3_module made{};
  made.iVersion = 1;
  made.xCreate = connect;
  made.xConnect = connect;
  made.xBestIndex = best_index;
  made.xDisconnect = disconnect;
  made.xDestroy = disconnect;
  made.xOpen = open_cursor;
  made.xClose = close_cursor;
  made.xFilter = filter;
  made.xNext = next;
  made.xEof = at_end;
  made.xColumn = column;
  made.xRowid = row_id;
  return made;
}();

}  // namespace

// Takes the id nearest to the previous one, so that neither disorder nor a wrap of CUPTI's 32-bit
// counter misleads, and puts the process's number for that wrap into the high half.
std::int64_t RowContext::correlation(std::uint32_t id) {
  if (id == 0) return 0;
  const auto distance =
      static_cast<std::int32_t>(id - static_cast<std::uint32_t>(correlation_reference));
  auto unwrapped = static_cast<std::int64_t>(correlation_reference) + distance;
  if (unwrapped < 0) unwrapped += std::int64_t{1} << 32;
  correlation_reference = static_cast<std::uint64_t>(unwrapped);
  const auto wraps = static_cast<std::size_t>(unwrapped >> 32);
  if (wraps > most_wraps) {
    ++correlations_lost;
    return 0;
  }
  while (numbers.size() <= wraps) numbers.push_back(next_number());
  return numbers[wraps] << 32 | id;
}

void register_packed_rows(Database& database) {
  if (sqlite3_create_module_v2(database.handle(), "packed_rows", &module, nullptr, nullptr) !=
      SQLITE_OK) {
    throw Error(database.path() + ": " + sqlite3_errmsg(database.handle()));
  }
}

RowSource::Cell RowSource::cell(schema::Type type, schema::Role role, std::uint16_t width,
                                std::uint32_t offset) {
  Cell made{static_cast<std::uint8_t>(type), width, offset};
  using enum schema::Role;
  const bool may_be_null = type <= schema::Type::u64 || type == schema::Type::string;
  if (type == schema::Type::u32 && role == correlation) {
    made.how = Cell::correlation;
  } else if (type == schema::Type::u32 && role == correlation_or_null) {
    made.how = Cell::correlation_or_null;
  } else if (role == nullable && may_be_null) {
    made.how |= 0x80;
  }
  return made;
}

void create_row_source(Database& database, const std::string& name, RowSource& source,
                       std::span<const std::string> column_names) {
  std::string declaration;
  for (const std::string& column_name : column_names) {
    declaration += (declaration.empty() ? "CREATE TABLE x(\"" : ", \"") + column_name + '"';
  }
  declaration += ")";
  database.execute("CREATE VIRTUAL TABLE temp.\"" + name + "\" USING packed_rows(" +
                   std::to_string(reinterpret_cast<std::uintptr_t>(&source)) + ", '" + declaration +
                   "')");
}

}  // namespace gpuprof::store
