// Recovers what is left of a damaged database.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

struct SchemaObject {
  std::string type;  // table, virtual table, view, index or trigger
  std::string name;
  store::ForeignSql sql;
};

// The objects that a database says it contains, in creation order, without those that SQLite
// creates itself. `schema` is the name of an attached database. `complete` is set to false if part
// of sqlite_master is damaged.
std::vector<SchemaObject> read_schema(store::Database& database, const std::string& schema = "main",
                                      bool* complete = nullptr);

// Losses in a table of a damaged file.
struct Loss {
  std::string table;
  std::int64_t rows = 0;     // known to be lost
  std::int64_t last_id = 0;  // of the last readable row
  bool open_ended = false;   // more may be lost at its end
};

// Copies everything readable into the empty database `copy`. `damaged` must have been opened as
// damaged. Tables, indexes and views of ours and nvprof's are created from our own SQL, with all
// current columns; for one of our files (`ours`) missing ones are created too. Others are created
// as they were, except for virtual tables and triggers. Lost rows are inferred from gaps in row ids
// and from what the file says about the length of its tables. Throws DatabaseError if nothing can
// be read. `progress` is called with each table's name.
std::vector<Loss> rescue(store::Database& damaged, store::Database& copy, bool ours,
                         const std::function<void(std::string_view table)>& progress);

}  // namespace gpuprof::reading
