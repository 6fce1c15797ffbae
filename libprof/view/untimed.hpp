// GPU work without times: it is not drawn, but it is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::view {

// Records of one name in one process and table.
struct Untimed {
  std::string name, table;
  std::int64_t process = 0, count = 0;
  std::vector<std::int64_t> ids;  // of the first rows
};

struct UntimedWork {
  std::vector<Untimed> groups;  // most records first
  std::int64_t left_out = 0;    // records of further groups
};

// Reads all tables of GPU work. `check` is called now and then and may throw.
UntimedWork find_untimed(store::Database& database, const std::function<void()>& check,
                         std::size_t most_groups = 1000);

// As JSON, with the first so many of the groups.
std::string untimed_answer(const UntimedWork& work, std::size_t most_groups = SIZE_MAX);

}  // namespace gpuprof::view
