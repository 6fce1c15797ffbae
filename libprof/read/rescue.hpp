// What is left of a damaged database.
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

// What a database says it consists of, in the order it was made, without what SQLite makes by
// itself. `schema` is an attached database's name. `complete` is set to false if a part of the list
// is damaged.
std::vector<SchemaObject> read_schema(store::Database& database, const std::string& schema = "main",
                                      bool* complete = nullptr);

// Of a table in a damaged file.
struct Loss {
  std::string table;
  std::int64_t rows = 0;     // known to be lost
  std::int64_t last_id = 0;  // of the last row that could be read
  bool open_ended = false;   // more may be lost at its end
};

// Copies all that can be read into the empty database `copy`. `damaged` must have been opened as
// damaged. Tables, indexes and views of ours and of nvprof's are made by our own texts, with all
// columns of today; of a file of ours (`ours`) those too that are missing. Others are made as they
// were, but for virtual tables and triggers. Lost rows are judged by gaps in row ids and by what
// the file says of the length of its tables. Throws DatabaseError if nothing can be read.
// `progress` is called with each table's name.
std::vector<Loss> rescue(store::Database& damaged, store::Database& copy, bool ours,
                         const std::function<void(std::string_view table)>& progress);

}  // namespace gpuprof::reading
