// What is to be read, and where the file has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/columns/table_info.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

// Which rows. A condition applies where the file's table has the column that it asks, and leaves
// out rows without a whole number there.
struct Filter {
  // Of "start", "timestamp" or "time", ns: from <= time < to.
  std::optional<std::int64_t> from = {}, to = {};
  // One of these, if there are any.
  std::vector<std::int64_t> devices = {};               // of deviceId
  std::vector<std::int64_t> processes = {};             // of processId
  std::optional<std::vector<std::int64_t>> names = {};  // of "name": StringTable ids
};

struct Request {
  std::string table;                 // in any case of letters
  std::vector<std::string> columns;  // by the names of the schema
  Filter filter = {};
  // For tests and benchmarks: all rows through SQLite; pages that are read at a time (0: chosen).
  bool only_sqlite = false;
  std::size_t pages_at_a_time = 0;
};

// Where the value of a column is, in a row of the file.
struct Source {
  enum class Place { missing, row_id, record };
  Type type{};
  Place place = Place::missing;
  std::size_t index = 0;  // of values in the record
  std::string name = {};  // as the file has it
};

// A condition on a whole number.
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
  std::vector<bool> small_;           // of those from 0 on that are not large
};

// A request held against a file. Immutable, any thread may read it.
struct Plan {
  std::string table;   // as the file has it; empty: it has none
  std::string row_id;  // its name for SQL; empty: there are none
  std::vector<Source> columns;
  struct Test {
    Source source;
    Condition condition;
  };
  std::vector<Test> tests;  // all must accept
  // Its b-tree, if the pages can be read from the file.
  struct Tree {
    std::uint32_t root = 0;
    std::uint32_t pages = 0;  // of the file
    std::size_t page_size = 0;
  };
  std::optional<Tree> tree;
};

// Throws Error for a table or column that the schema does not know.
Plan make_plan(store::Snapshot& snapshot, const Request& request);

}  // namespace gpuprof::columns
