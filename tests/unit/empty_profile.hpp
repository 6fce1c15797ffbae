// An empty profile in memory: a copy, because creating all tables takes most of the time of a small
// test.
#pragma once

#include <sqlite3.h>

#include <string>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::test {

inline store::Database empty_profile() {
  using store::Database;
  static Database made = [] {
    Database database(":memory:", Database::Mode::create);
    store::make_empty_profile(database, false);
    return database;
  }();
  Database copy(":memory:", Database::Mode::create);
  copy.execute("PRAGMA page_size = " + std::to_string(*made.integer("PRAGMA page_size")));
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle(), "main", made.handle(), "main");
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) throw Error("the empty profile is not copied");
  return copy;
}

}  // namespace gpuprof::test
