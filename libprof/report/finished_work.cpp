#include "libprof/report/finished_work.hpp"

#include <algorithm>

#include "libprof/read/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

bool has_index(store::Database& database, const std::string& table) {
  auto row = database.prepare(
      "SELECT 1 FROM main.sqlite_master WHERE type = 'index' AND tbl_name = ?1 COLLATE NOCASE AND "
      "sql LIKE '%(correlationId)'");
  row.bind(1, table);
  return row.step();
}

}  // namespace

std::int64_t latest_end(store::Database& database, const std::string& table, std::string_view end) {
  constexpr char newest_rows[] = "100000";
  return database
      .integer("SELECT max(stop) FROM (SELECT " + store::quoted_name(end) + " AS stop FROM main." +
               table + " ORDER BY _id_ DESC LIMIT " + newest_rows + ")")
      .value_or(0);
}

void FinishedWork::read_table(store::Database& database, const std::string& table,
                              std::string_view end_column) {
  const std::string end = store::quoted_name(end_column);
  if (has_index(database, table)) {
    questions_.push_back(database.prepare("SELECT 1 FROM main." + table +
                                          " WHERE correlationId = ?1 AND " + end + " > 0 LIMIT 1"));
    last_end_ = std::max(last_end_, latest_end(database, table, end_column));
    return;
  }
  std::int64_t& up_to = read_up_to_[table];
  auto rows = database.prepare("SELECT _id_, correlationId, " + end + " FROM main." + table +
                               " WHERE _id_ > ?1 ORDER BY _id_");
  rows.bind(1, up_to);
  while (rows.step()) {
    up_to = rows.integer(0);
    if (rows.integer(2) <= 0) continue;
    ended_.add(rows.integer(1));
    last_end_ = std::max(last_end_, rows.integer(2));
  }
}

void FinishedWork::read(store::Database& database) {
  questions_.clear();
  reading::Tables tables(database);
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    const std::string table = reading::table_name(kind.kind);
    if (kind.stays_empty || !tables.has(table, "_id_") || !tables.has(table, "correlationId") ||
        !tables.has(table, kind.end)) {
      continue;
    }
    read_table(database, table, kind.end);
  }
}

bool FinishedWork::has(std::int64_t correlation) const {
  if (ended_.contains(correlation)) return true;
  return std::ranges::any_of(questions_, [&](store::Statement& question) {
    question.reset();
    question.bind(1, correlation);
    return question.step();
  });
}

}  // namespace gpuprof::report
