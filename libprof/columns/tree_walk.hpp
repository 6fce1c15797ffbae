// The leaf pages of a table in the file, in the order of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libprof/columns/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::columns {

inline constexpr std::uint8_t leaf_page = 13;  // first byte of a page with rows

// Row ids from one to another, both included, and the leaf pages that have them: the rows of
// pages[i] end with `last_ids`[i] at the latest. Without pages, SQLite is to be asked.
struct Stretch {
  std::int64_t first = 0, last = 0;
  std::vector<std::uint32_t> pages = {};
  std::vector<std::int64_t> last_ids = {};
};

// Walks over the inner pages of a table's b-tree. Each page number, cell and key is checked; where
// one makes no sense a stretch without pages takes the place of what is below. So no page can come
// up twice, whatever the file says: the stretches divide all row ids in ascending order.
//
// One thread at a time. Memory: an inner page for each level.
class TreeWalk {
 public:
  TreeWalk(const Plan::Tree& tree, std::size_t pages_at_a_time);

  // Reads by this connection. Nothing: that was all.
  std::optional<Stretch> next(store::Database& database);

 private:
  // An inner page: children[i] has row ids up to last_ids[i], from where the one before ends.
  struct Inner {
    std::int64_t first = 0;
    std::size_t next = 0;
    std::vector<std::uint32_t> children = {};
    std::vector<std::int64_t> last_ids = {};
  };

  bool read_page(store::Database& database, std::uint32_t number);
  bool open(store::Database& database, std::uint32_t number, std::int64_t first, std::int64_t last);
  bool find_depth(store::Database& database);

  const Plan::Tree tree_;
  const std::size_t pages_at_a_time_;
  std::vector<std::uint8_t> page_;
  bool begun_ = false;
  std::size_t depth_ = 0;     // inner pages above a leaf
  std::vector<Inner> above_;  // from the root
};

}  // namespace gpuprof::columns
