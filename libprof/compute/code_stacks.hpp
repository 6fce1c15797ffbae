// The stacks of a file: of Python, and of C++ with --native-stacks.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/compute/code_lines.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// The functions in them.
struct CodeStacks {
  struct Entry {
    std::int64_t process = 0, stack = 0, position = 0;  // position 0: the innermost function
    std::uint32_t line = 0;                             // index
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<CodeLine> lines;   // the first is empty
  std::vector<bool> of_library;  // of each line
  std::vector<Entry> entries;    // in order, without those whose line is not known
};
// `check` is called now and then and may throw.
CodeStacks read_code_stacks(store::Snapshot& snapshot, const std::function<void()>& check);

}  // namespace gpuprof::compute
