// GPU work without times, which exists but cannot be drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::view {

// Records with one name in one process and table.
struct Untimed {
  std::string name, table;
  std::int64_t process = 0, count = 0;
  std::vector<std::int64_t> ids;  // of the first rows
};

struct UntimedWork {
  std::vector<Untimed> groups;  // most records first
  std::int64_t left_out = 0;    // records of the remaining groups
};

// Reads all tables of GPU work. `check` is called from time to time and may throw.
UntimedWork find_untimed(store::Database& database, const std::function<void()>& check,
                         std::size_t most_groups = 1000);

// As JSON, with the first `most_groups` groups.
std::string untimed_answer(const UntimedWork& work, std::size_t most_groups = SIZE_MAX);

}  // namespace gpuprof::view
