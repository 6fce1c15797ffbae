// What to read, and where it is in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/read/columns/table_info.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

// Selects rows. A condition applies only if the file's table has its column, and excludes rows
// without an integer there.
struct Filter {
  // On "start", "timestamp" or "time", ns: from <= time < to.
  std::optional<std::int64_t> from = {}, to = {};
  // One of these, if not empty.
  std::vector<std::int64_t> devices = {};               // of deviceId
  std::vector<std::int64_t> processes = {};             // of processId
  std::optional<std::vector<std::int64_t>> names = {};  // of "name": StringTable ids
};

// Row ids, both inclusive.
struct RowIds {
  std::int64_t first = 0, last = 0;
};

struct Request {
  std::string table;                 // case-insensitive
  std::vector<std::string> columns;  // the schema's names
  Filter filter = {};
  // The rows that are needed, ascending: others need not be read, but some are. Nullopt: all are.
  std::optional<std::vector<RowIds>> needed = {};
  // For tests and benchmarks: read all rows through SQLite; pages read at a time (0: automatic).
  bool only_sqlite = false;
  std::size_t pages_at_a_time = 0;
};

// Where a column's value is in a row of the file.
struct ColumnSource {
  enum class Place { missing, row_id, record };
  Type type{};
  Place place = Place::missing;
  std::size_t index = 0;  // in the record
  std::string name = {};  // as in the file
};

// A condition on an integer.
class Condition {
 public:
  Condition(std::optional<std::int64_t> from, std::optional<std::int64_t> to)
      : from_(from), to_(to) {}
  explicit Condition(std::vector<std::int64_t> any_of);

  bool accepts(std::int64_t value) const;

 private:
  std::optional<std::int64_t> from_, to_;
  bool listed_ = false;
  std::vector<std::int64_t> any_of_;  // sorted
  std::vector<bool> small_;           // membership of small non-negative values
};

// A request resolved against a file. Immutable; any thread may read it.
struct Plan {
  std::string table;   // as in the file; empty: no such table
  std::string row_id;  // its SQL name; empty: none
  std::vector<ColumnSource> columns;
  struct Test {
    ColumnSource source;
    Condition condition;
  };
  std::vector<Test> tests;  // all must accept
  // The table's b-tree, if its pages can be read from the file.
  struct Tree {
    std::uint32_t root = 0;
    std::uint32_t pages = 0;  // of the file
    std::size_t page_size = 0;
  };
  std::optional<Tree> tree;
  std::optional<std::vector<RowIds>> needed = {};
};

// Throws Error for a table or column unknown to the schema.
Plan make_plan(store::Snapshot& snapshot, const Request& request);

}  // namespace gpuprof::columns
