#include "libprof/store/database_schema.hpp"

#include <algorithm>
#include <string>

#include "schema/document.hpp"

namespace gpuprof::store {
namespace {

void write_docs(Database& database) {
  Statement table = database.prepare("INSERT OR REPLACE INTO TABLE_DOC VALUES(?1, ?2)");
  Statement column = database.prepare("INSERT OR REPLACE INTO COLUMN_DOC VALUES(?1, ?2, ?3)");
  for (const schema::DocRow& row : schema::doc_rows()) {
    if (row.column.empty()) {
      table.bind(1, row.table).bind(2, row.doc).run();
    } else {
      column.bind(1, row.table).bind(2, row.column).bind(3, row.doc).run();
    }
  }
}

}  // namespace

void create_schema(Database& database) {
  for (const schema::KindRef& kind : schema::kinds) {
    database.execute(schema::create_table_sql(*kind.table));
  }
  for (const schema::LegacyTable& legacy : schema::legacy_tables) {
    database.execute(schema::create_table_sql(legacy));
  }
  for (const schema::SessionTable& session : schema::session_tables) {
    database.execute(schema::create_table_sql(session));
  }
  for (const std::string_view index : schema::session_indexes) {
    database.execute(std::string(index));
  }
  database.execute("INSERT INTO Version VALUES(" + std::to_string(schema::nvprof_version) + ")");
  for (const schema::ViewSql& view : schema::views()) database.execute(std::string(view.sql));

  Statement statistic = database.prepare("INSERT INTO STATISTIC_DOC VALUES(?1, ?2, ?3)");
  for (const schema::StatisticInfo& info : schema::statistics) {
    statistic.bind(1, info.name).bind(2, schema::severity_name(info.severity)).bind(3, info.help);
    statistic.run();
  }
  Statement name = database.prepare("INSERT OR IGNORE INTO ENUM_NAME VALUES(?1, ?2, ?3)");
  for (const schema::EnumType& type : schema::enum_types) {
    for (const schema::EnumValue& value : type.values) {
      name.bind(1, type.name).bind(2, value.value).bind(3, value.name).run();
    }
  }
  write_docs(database);
}

void create_indexes(Database& database) {
  for (const schema::Index& index : schema::indexes) {
    database.execute(schema::create_index_sql(index));
  }
}

}  // namespace gpuprof::store
