// An empty profile in memory: a copy, because creating all tables takes most of the time of a small
// test.
#pragma once

#include <sqlite3.h>

#include <string>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::test {

// Without its views: SQLite parses them whenever it opens a profile, for longer than a small test
// otherwise takes.
inline void drop_views(store::Database& database) {
  std::string drops;
  auto views = database.prepare("SELECT name FROM main.sqlite_master WHERE type = 'view'");
  while (views.step()) drops += "DROP VIEW main." + std::string(views.text(0)) + ";";
  views.reset();
  database.execute("BEGIN;" + drops + "COMMIT");
}

inline store::Database copy_of(store::Database& made) {
  using store::Database;
  Database copy(":memory:", Database::Mode::create);
  copy.execute("PRAGMA page_size = " + std::to_string(*made.integer("PRAGMA page_size")));
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle(), "main", made.handle(), "main");
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) throw Error("the empty profile is not copied");
  return copy;
}

inline store::Database make_empty_profile_in_memory() {
  store::Database database(":memory:", store::Database::Mode::create);
  store::make_empty_profile(database, false);
  return database;
}

inline store::Database empty_profile() {
  static store::Database made = make_empty_profile_in_memory();
  return copy_of(made);
}

inline store::Database empty_tables() {
  static store::Database made = [] {
    store::Database database = make_empty_profile_in_memory();
    drop_views(database);
    return database;
  }();
  return copy_of(made);
}

}  // namespace gpuprof::test
