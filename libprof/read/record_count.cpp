#include "libprof/read/record_count.hpp"

#include "libprof/base/saturating.hpp"
#include "libprof/read/rescue.hpp"

namespace gpuprof::reading {

std::int64_t count_records(Tables& tables, const std::string& table, bool by_ids) {
  const std::string from = " FROM main." + store::quoted_name(table);
  store::Database& database = tables.database();
  if (!by_ids || !tables.has(table, "_id_")) {
    return database.integer("SELECT count(*)" + from).value_or(0);
  }
  const auto first = database.integer("SELECT min(_id_)" + from);
  if (!first) return 0;
  const std::int64_t last = database.integer("SELECT max(_id_)" + from).value_or(*first);
  return saturating_add(saturating_subtract(last, *first), 1);
}

std::int64_t count_records(store::Database& database, bool by_ids) {
  Tables tables(database);
  by_ids = by_ids && numbers_records(tables);
  std::int64_t count = 0;
  for (const SchemaObject& object : read_schema(database)) {
    if (object.type != "table" || kind_of(object.name).empty()) continue;
    count = saturating_add(count, count_records(tables, object.name, by_ids));
  }
  return count;
}

bool numbers_records(Tables& tables) {
  return tables.has("RUN", "key") &&
         !tables.database().integer("SELECT 1 FROM main.RUN WHERE key = 'derived_from'");
}

}  // namespace gpuprof::reading
