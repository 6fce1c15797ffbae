#include "libprof/read/columns/table_info.hpp"

#include <algorithm>
#include <iterator>

#include "libprof/base/letter_case.hpp"
#include "schema/enums.hpp"
#include "schema/tables.hpp"

namespace gpuprof::columns {
namespace {

// The enum named in a column's doc; empty: none, or the number is a bit set.
std::string_view enum_in(std::string_view doc) {
  constexpr std::string_view word = "enum ";
  const std::size_t at = doc.find(word);
  if (at == doc.npos) return {};
  doc.remove_prefix(at + word.size());
  const std::string_view name = doc.substr(0, std::min(doc.size(), doc.find_first_of(" ,;.:")));
  const bool known = std::ranges::find(schema::enum_types, name, &schema::EnumType::name) !=
                     std::end(schema::enum_types);
  return !known || doc.substr(name.size()).starts_with(", bits") ? std::string_view() : name;
}

// Determines what an integer column holds from its doc.
ColumnInfo whole_numbers(std::string_view name, Type plain, std::string_view doc) {
  if (doc.find("StringTable id") != doc.npos) return {.name = name, .type = Type::name};
  if (doc.starts_with("1 = ")) return {.name = name, .type = Type::boolean};
  if (const std::string_view type = enum_in(doc); !type.empty()) {
    return {.name = name, .type = Type::enumeration, .enum_name = type};
  }
  return {.name = name, .type = plain};
}

ColumnInfo column_info(std::string_view name, schema::Type type, std::string_view doc) {
  using enum schema::Type;
  switch (type) {
    case i8:
    case u8:
    case i16:
    case u16:
    case i32: return whole_numbers(name, Type::int32, doc);
    // These include correlation ids, which have the process's number in their high bits.
    case u32:
    case i64:
    case u64:
    case integer: return whole_numbers(name, Type::int64, doc);
    case f64: return {.name = name, .type = Type::float64};
    case string: return {.name = name, .type = Type::name};
    case blob:
    case bytes: return {.name = name, .type = Type::blob};
    case text:
    case any: break;
  }
  return {.name = name, .type = Type::text};
}

std::vector<TableInfo> all_tables() {
  std::vector<TableInfo> all;
  for (const schema::Table* table : schema::all_tables) {
    TableInfo& info = all.emplace_back(TableInfo{.name = table->name, .columns = {}});
    schema::for_each_column(*table, true, [&](const schema::Column& column) {
      // nvprof's tables that are never filled have no docs.
      const bool is_name = column.name == "name" && table->origin == schema::Origin::legacy;
      info.columns.push_back(
          column_info(column.name, is_name ? schema::Type::string : column.type, column.doc));
    });
  }
  return all;
}

}  // namespace

const ColumnInfo* TableInfo::find(std::string_view column) const {
  return find_named(columns, column);
}

std::span<const TableInfo> tables() {
  static const std::vector<TableInfo> all = all_tables();
  return all;
}

const TableInfo* find_table(std::string_view name) {
  const auto all = tables();
  return find_named(all, name);
}

}  // namespace gpuprof::columns
