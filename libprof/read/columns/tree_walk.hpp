// The leaf pages of a table in the file, in row order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libprof/read/columns/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::columns {

inline constexpr std::uint8_t leaf_page = 13;  // first byte of a page with rows

// A range of row ids, inclusive, and the leaf pages that contain them: pages[i] has row ids up to
// last_ids[i]. Without pages, SQLite must read the rows.
struct Stretch {
  std::int64_t first = 0, last = 0;
  std::vector<std::uint32_t> pages = {};
  std::vector<std::int64_t> last_ids = {};
};

// Walks the inner pages of a table's b-tree. Each page number, cell and key is validated; if one is
// invalid, a stretch without pages replaces everything below it. Whatever the file contains, no
// page comes up twice: the stretches partition all row ids in ascending order, or, if only some are
// needed, leave out pages that have none of these.
//
// Used by one thread at a time. Memory: one inner page per level.
class TreeWalk {
 public:
  TreeWalk(const Plan::Tree& tree, std::size_t pages_at_a_time,
           std::optional<std::vector<RowIds>> needed = {});

  // Reads through this connection. Nullopt: the end.
  std::optional<Stretch> next(store::Database& database);

 private:
  // An inner page: children[i] has row ids up to last_ids[i], starting after the previous child's.
  struct Inner {
    std::int64_t first = 0;
    std::size_t next = 0;
    std::vector<std::uint32_t> children = {};
    std::vector<std::int64_t> last_ids = {};

    std::int64_t first_of(std::size_t child) const {
      return child == 0 ? first : last_ids[child - 1] + 1;
    }
  };

  bool is_needed(std::int64_t first, std::int64_t last) const;
  bool is_needed(const Inner& inner, std::size_t child) const {
    return is_needed(inner.first_of(child), inner.last_ids[child]);
  }

  bool read_page(store::Database& database, std::uint32_t number);
  bool open(store::Database& database, std::uint32_t number, std::int64_t first, std::int64_t last);
  bool find_depth(store::Database& database);

  const Plan::Tree tree_;
  const std::size_t pages_at_a_time_;
  const std::optional<std::vector<RowIds>> needed_;
  std::vector<std::uint8_t> page_;
  bool begun_ = false;
  std::size_t depth_ = 0;     // inner pages above a leaf
  std::vector<Inner> above_;  // from the root
};

}  // namespace gpuprof::columns
