// The tables that streams bring rows for, created, widened and documented according to their
// definitions.
//
// Part of the loader, on its thread. Names in a definition are untrusted: those that could collide
// with an object of ours, of SQLite's or of its functions are refused, and all SQL names the
// schema.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libprof/store/docs.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

class StreamTables {
 public:
  // Where the start and end of GPU work are in a row, to count the rows that have neither.
  struct Times {
    std::size_t start = 0;
    std::size_t end = 0;
    bool there = false;
    std::optional<std::size_t> of_run = {};  // offset of a time that the run's times may count from
  };
  // INSERT … SELECT into one table, for one definition of it.
  struct Writer {
    std::string table;
    RowSource source;
    Statement insert;
    Times times;
  };
  // How much of its limits a stream has used (wire/limits.hpp).
  struct Share {
    std::size_t new_tables = 0;
    std::size_t columns = 0;
  };

  // The database has our tables and views and must outlive this object.
  explicit StreamTables(Database& database);

  // Whether a collector may send rows for a table of this name.
  bool takes_rows(std::string_view table) const;
  // Whether it is one of the tables that only the launcher fills, or only a sampler.
  static bool takes_own_rows(std::string_view table);
  static bool takes_samples(std::string_view table);
  // Shared by all streams that define the table identically. Null: the run or the stream's share
  // already has too many tables or columns.
  Writer* writer_for(const wire::WireTable& table, std::string_view definition, Share& share);
  // Releases all statements.
  void close();

 private:
  bool is_known(std::string_view table);
  void make_table(const wire::WireTable& brought);
  void add_column(std::string_view table, std::string_view column, std::string_view type,
                  std::string_view doc);

  Database& database_;
  Docs docs_;
  std::set<std::string, std::less<>> reserved_;                          // in lower case
  std::map<std::string, std::unique_ptr<Writer>, std::less<>> writers_;  // by definition
  std::size_t columns_ = 0;                                              // of all writers
  std::size_t new_tables_ = 0;
};

}  // namespace gpuprof::store
