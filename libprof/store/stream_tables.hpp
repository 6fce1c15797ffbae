// The tables that streams bring rows for: made, widened and documented as their definitions say.
//
// A part of the loader, on its thread. Names in a definition are somebody else's: those that could
// meet an object of ours, of SQLite's or of its functions are refused, and all SQL names the
// schema.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libprof/store/column_docs.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

class StreamTables {
 public:
  // Where the start and end of GPU work lie in a row, to count the rows that have neither.
  struct Times {
    std::size_t start = 0;
    std::size_t end = 0;
    bool there = false;
    std::optional<std::size_t> of_run = {};  // where what the run's times may count from lies
  };
  // INSERT … SELECT into one table, for one definition of it.
  struct Writer {
    std::string table;
    RowSource source;
    Statement insert;
    Times times;
  };
  // What a stream has taken of what it may (wire/limits.hpp).
  struct Share {
    std::size_t new_tables = 0;
    std::size_t columns = 0;
  };

  // The database has our own tables and views, and outlives this.
  explicit StreamTables(Database& database);

  // Whether a collector may have rows in a table of this name.
  bool takes_rows(std::string_view table) const;
  // Whether it is one of those that only the launcher makes, or of those a sampler does.
  static bool takes_own_rows(std::string_view table);
  static bool takes_samples(std::string_view table);
  // The same one for all streams that define the table alike. Null: there are too many tables or
  // columns already, in the run or in the stream's share.
  Writer* writer_for(const wire::WireTable& table, std::string_view definition, Share& share);
  // Holds no statement any more.
  void close();

 private:
  bool is_known(std::string_view table);
  void make_table(const wire::WireTable& brought);
  void add_column(std::string_view table, std::string_view column, std::string_view type,
                  std::string_view doc);

  Database& database_;
  ColumnDocs docs_;
  std::set<std::string, std::less<>> reserved_;                          // in small letters
  std::map<std::string, std::unique_ptr<Writer>, std::less<>> writers_;  // by definition
  std::size_t columns_ = 0;                                              // of all writers
  std::size_t new_tables_ = 0;
};

}  // namespace gpuprof::store
