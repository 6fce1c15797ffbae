#include "libprof/conclude/findings/shared_tables.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "libprof/conclude/findings/launches.hpp"

namespace gpuprof::findings {
namespace {

store::Statement insert_into(store::Database& database, const SharedTable& table) {
  const auto columns = 1 + std::ranges::count(table.columns, ',');
  std::string values = "?1";
  for (std::ptrdiff_t i = 2; i <= columns; ++i) values += ", ?" + std::to_string(i);
  return database.prepare("INSERT INTO temp." + std::string(table.name) + " VALUES(" + values +
                          ")");
}

void copy_rows(store::Database& database, const SharedTable& table, store::Statement& rows,
               const std::function<void()>& check) {
  store::Statement insert = insert_into(database, table);
  for (std::int64_t row = 0; rows.step(); ++row) {
    if (row % 65536 == 0) check();
    for (int column = 0; column < rows.column_count(); ++column) {
      insert.bind_column(column + 1, rows, column);
    }
    insert.run();
  }
}

void write(store::Database& database, const Launches::Sums& sums) {
  store::Statement insert = insert_into(database, launches_table);
  for (const auto& [key, sum] : sums) {
    int column = 0;
    for (const std::int64_t value : key) insert.bind(++column, value);
    for (const std::int64_t value : {sum.ns, sum.count, sum.longest, sum.first, sum.last}) {
      insert.bind(++column, value);
    }
    insert.run();
  }
}

void write(store::Database& database, const std::map<std::int64_t, Launches::OfGraphs>& graphs) {
  store::Statement insert = insert_into(database, graphs_table);
  for (const auto& [device, its] : graphs) {
    insert.bind(1, device).bind(2, its.kernels).bind(3, its.launches).run();
  }
}

}  // namespace

bool reads(const Rule& rule, std::string_view table) {
  for (const char* before : {"FROM ", "JOIN "}) {
    const std::string words = before + std::string(table);
    for (std::size_t at = rule.sql.find(words); at != rule.sql.npos;
         at = rule.sql.find(words, at + 1)) {
      const std::size_t end = at + words.size();
      if (end == rule.sql.size() || rule.sql[end] == ' ' || rule.sql[end] == '\n') return true;
    }
  }
  return false;
}

SharedTables::~SharedTables() {
  try {
    for (const std::string_view name : made_) {
      snapshot_.database().execute("DROP TABLE IF EXISTS temp." + std::string(name));
    }
  } catch (const std::exception&) {
    // They go with the connection.
  }
}

// nvprof's files do not say which process a kernel is of.
std::string SharedTables::sql_of(const SharedTable& table) const {
  if (!table.better_table.empty() && snapshot_.database().has_table(table.better_table)) {
    return std::string(table.better_sql);
  }
  constexpr std::string_view process = "k.processId";
  std::string sql(table.sql);
  const std::size_t at = sql.find(process);
  if (at != sql.npos &&
      !snapshot_.database().has_column("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "processId")) {
    sql.replace(at, process.size(), "0");
  }
  return sql;
}

std::string SharedTables::sql_for(const Rule& rule) const {
  std::string sql;
  for (const SharedTable* table : shared_tables) {
    if (reads(rule, table->name)) sql += sql_of(*table);
  }
  return sql;
}

void SharedTables::make_for(const Rule& rule, const std::function<void()>& check) {
  for (const SharedTable* table : shared_tables) {
    if (!reads(rule, table->name) || std::ranges::find(made_, table->name) != made_.end()) continue;
    make(*table, check);
    made_.push_back(table->name);
  }
}

void SharedTables::make(const SharedTable& table, const std::function<void()>& check) {
  store::Database& database = snapshot_.database();
  const std::string name(table.name), columns(table.columns);
  database.execute("DROP TABLE IF EXISTS temp." + name);
  // Before the table is there, and also where it is not needed: it says whether the columns are.
  store::Statement rows =
      database.ask(span_ + sql_of(table) + "\nSELECT " + columns + " FROM " + name, false);
  database.execute("CREATE TEMP TABLE " + name + "(" + columns + ")");
  if (&table == &launches_table || &table == &graphs_table) {
    if (!launches_) launches_ = read_launches(snapshot_, window_, check);
    if (&table == &graphs_table) return write(database, launches_->graphs);
    if (launches_->sums) {
      write(database, *launches_->sums);
      launches_->sums->clear();
      return;
    }
  }
  copy_rows(database, table, rows, check);
}

}  // namespace gpuprof::findings
