// The functions that asked for GPU work, from the stacks of calls: of Python, and of C++
// with --native-stacks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libprof/compute/code_lines.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::exporting {

// A function, or whatever else is in a stack.
struct StackFrame {
  enum class Kind { other, python, native, work };

  std::string name, file = {};  // file: empty if none is known
  std::int64_t line = 0;        // 0: not known
  Kind kind = Kind::other;
  auto operator<=>(const StackFrame&) const = default;
};

// Reads everything at once. Memory: the stacks, and 16 bytes for each call with one.
class CodeStacks {
 public:
  explicit CodeStacks(reading::Profile& profile);

  // The number of the stack of the call that asked for work, of a graph's node of the call that
  // made that; 0: it has none.
  std::uint32_t stack_of(std::int64_t process, std::int64_t node, std::int64_t correlation) const;
  // Outermost first.
  std::span<const StackFrame> frames(std::uint32_t stack) const { return stacks_[stack]; }

 private:
  using Key = compute::CodeLines::Key;  // process, stack

  void read_stacks(reading::Profile& profile);

  std::vector<std::vector<StackFrame>> stacks_{{}};
  std::map<Key, std::uint32_t> numbers_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> calls_;  // by correlation id
  std::optional<compute::NodeStacks> nodes_;
};

}  // namespace gpuprof::exporting
