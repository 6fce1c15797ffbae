#include "libprof/c_api/known.hpp"

#include <map>

#include "libprof/base/letter_case.hpp"
#include "schema/document.hpp"

namespace gpuprof::c_api {
namespace {

// The column type written in a view's SQL; ANY: known only after reading.
std::optional<Kind> kind_of_written(std::string_view type) {
  if (type == "INTEGER") return Kind::int64;
  if (type == "REAL") return Kind::float64;
  if (type == "TEXT") return Kind::text;
  return std::nullopt;
}

std::vector<KnownTable> all_tables() {
  std::map<std::string, std::map<std::string, schema::DocRow>> docs;
  for (schema::DocRow& row : schema::doc_rows()) {
    std::string column = row.column;
    docs[row.table].emplace(std::move(column), std::move(row));
  }
  std::vector<KnownTable> all;
  const auto doc_of = [&](KnownTable& table) {
    const auto& rows = docs[table.name];
    if (const auto own = rows.find(""); own != rows.end()) table.doc = own->second.doc;
    for (KnownColumn& column : table.columns) {
      const auto row = rows.find(column.name);
      if (row == rows.end()) continue;
      column.doc = row->second.doc;
      column.unit = row->second.unit;
    }
  };
  for (const columns::TableInfo& info : columns::tables()) {
    KnownTable& table = all.emplace_back();
    table.name = info.name;
    for (const columns::ColumnInfo& column : info.columns) {
      table.columns.push_back({std::string(column.name), kind_of(column.type, false), {}, {}});
    }
    doc_of(table);
  }
  for (const schema::ViewSql& sql : schema::views()) {
    const schema::ViewText text = schema::describe_view(sql.sql);
    KnownTable& table = all.emplace_back();
    table.name = text.name;
    table.is_view = true;
    for (const auto& column : text.columns) {
      table.columns.push_back({column.name, kind_of_written(column.type), {}, {}});
    }
    doc_of(table);
  }
  return all;
}

}  // namespace

const KnownColumn* KnownTable::find(std::string_view column) const {
  return find_named(columns, column);
}

std::span<const KnownTable> known_tables() {
  static const std::vector<KnownTable> all = all_tables();
  return all;
}

const KnownTable* find_known(std::string_view name) {
  const auto all = known_tables();
  return find_named(all, name);
}

Kind kind_of(columns::Type type, bool raw) {
  switch (type) {
    case columns::Type::int64: return Kind::int64;
    case columns::Type::int32: return Kind::int32;
    case columns::Type::float64: return Kind::float64;
    case columns::Type::boolean: return Kind::boolean;
    case columns::Type::name:
    case columns::Type::enumeration: return raw ? Kind::int32 : Kind::text;
    case columns::Type::text: return Kind::text;
    case columns::Type::blob: return Kind::binary;
  }
  return Kind::none;
}

}  // namespace gpuprof::c_api
