// Which rows of a large file say what devices and the host did in a period: table ROW_GROUP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/base/time_spans.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/read/columns/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Collects the table's rows while all GPU work and calls are read. Used by one thread. Memory: some
// bytes for a thousand rows.
class RowGroups {
 public:
  // With more groups, a file has none.
  static constexpr std::size_t most = std::size_t{1} << 20;
  // Others are for tests.
  struct Options {
    std::int64_t least_rows = 1'000'000;  // with fewer rows in all, a file has no groups
    std::int64_t ids_per_stretch = 0;     // 0: by the size of the table
  };

  RowGroups(store::Database& database, const Options& options);

  struct Rows {
    std::string_view table;
    const columns::Column &id, &start, &end, &process, &correlation;
    const columns::Column* device = nullptr;  // null: calls
  };
  // In the order of ids, table by table.
  void add(const Rows& rows);
  // Whether the file is to have groups, if all rows were added.
  bool are_wanted() const { return rows_ >= options_.least_rows && !too_many_; }
  // Inside a transaction. Creates the table where it is used.
  void write(store::Database& database);

 private:
  static constexpr std::size_t most_owners = 256;  // in a stretch

  // Rows of one device and process in a stretch of row ids.
  struct Group {
    std::string table;
    std::optional<std::int64_t> device;
    std::int64_t process = 0;
    std::int64_t first = 0, last = 0;  // of the stretch
    std::int64_t start = INT64_MAX, stop = INT64_MIN;
    std::int64_t first_correlation = INT64_MAX, last_correlation = INT64_MIN;
  };
  Group* find(std::optional<std::int64_t> device, std::int64_t process);
  bool is_in_stretch(std::int64_t id) const {
    return saturating_subtract(id, first_) < ids_per_stretch_;
  }
  void end_stretch();

  const Options options_;
  std::map<std::string, std::int64_t, std::less<>> stretches_;  // ids of each, by table
  std::int64_t rows_ = 0;
  std::vector<Group> groups_;
  bool too_many_ = false;
  // The current stretch, whose groups begin at `open_`:
  std::string table_;
  std::int64_t ids_per_stretch_ = 0;
  std::size_t open_ = 0;
  std::int64_t first_ = 0, last_ = 0;
};

// The rows of each table that an account of a period needs; some are of other times.
struct NeededRows {
  std::map<std::string, std::vector<columns::RowIds>, std::less<>> tables;
  std::vector<std::int64_t> processes;  // all that have calls with times

  // For a request.
  std::optional<std::vector<columns::RowIds>> of(std::string_view table) const;
};

// A row of the table.
struct RowGroup {
  std::string table;
  columns::RowIds rows;
  std::optional<std::int64_t> device;  // nullopt: calls
  std::int64_t process = 0;
  std::optional<columns::RowIds> times, correlations;  // inclusive
  bool needed = false;
};

// The groups of a file.
class StoredRowGroups {
 public:
  // Nullopt: the file has none, or not of all its rows.
  static std::optional<StoredRowGroups> read(store::Database& database);

  // Of periods on CUPTI's clock. The work that was running then, the first of each device and that
  // after each period, the calls then and close to it, those which launched this work, and the work
  // of all these calls.
  NeededRows needed(std::vector<TimeSpan> periods) const;

 private:
  explicit StoredRowGroups(std::vector<RowGroup> groups) : groups_(std::move(groups)) {}

  std::vector<RowGroup> groups_;
};

}  // namespace gpuprof::compute
