// The lines of Python, or of C++ (--native-stacks), that calls came from.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

struct CodeLine {
  std::string file, function;
  std::int64_t line = 0;  // 0: not known
  auto operator<=>(const CodeLine&) const = default;
};

// "model.py:88 Model.forward"; "no line of Python" without a file and a function.
std::string line_words(const CodeLine& line);

// Whether it is a file of Python's own library: "/usr/lib/python3.12/threading.py".
bool is_of_python(std::string_view file);

// Whether a file of Python is not the user's own, but of an installed package or of Python, or made
// while the program ran.
bool is_library(std::string_view file);

// The same for a source file of native code: a header of the system or of CUDA, what nvcc makes, or
// of a library whose debug information names files as they were in its own folder.
bool is_native_library(std::string_view file);

// Calls take(frame, line) for each native function with a line (NATIVE_LINE); a frame is known by
// its process and number.
using FrameKey = std::pair<std::int64_t, std::int64_t>;
void read_native_lines(store::Database& database,
                       const std::function<void(const FrameKey&, CodeLine)>& take);

// Which function of a stack its line is of: the innermost of the user's own files, or the innermost
// of all. A stack without any of the user's has the innermost of all.
enum class LineOf { users_code, any_code };

// Memory: the file's stacks while they are read, then a number for each.
class CodeLines {
 public:
  // `check` is called now and then and may throw.
  CodeLines(store::Snapshot& snapshot, LineOf which, const std::function<void()>& check);

  // Lines by number. The first is empty, of stacks that have none.
  std::span<const CodeLine> lines() const { return lines_; }
  std::uint32_t line_of(std::int64_t process, std::int64_t stack) const;
  // Of all stacks, by process and stack.
  using Key = std::pair<std::int64_t, std::int64_t>;
  const std::map<Key, std::uint32_t>& by_stack() const { return by_stack_; }

  // The call that a correlation id is of.
  struct Call {
    std::int64_t correlation = 0;
    std::uint32_t line = 0;
    bool operator<(const Call& other) const { return correlation < other.correlation; }
  };
  // All calls with a stack.
  void read_calls(store::Snapshot& snapshot, Sorted<Call>& calls,
                  const std::function<void()>& check) const;

 private:
  std::vector<CodeLine> lines_;
  std::map<Key, std::uint32_t> by_stack_;
};

// The stacks of the calls that made the nodes of CUDA graphs (GRAPH_NODE): of a clone, that of its
// original; of a node that was updated in place, from then on that of the node it was updated from.
// Nothing about nodes that no known call made.
// Memory: the file's nodes.
class NodeStacks {
 public:
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, number of the node
  NodeStacks(store::Snapshot& snapshot, const std::function<void()>& check);

  struct Entry {
    std::int64_t process = 0, node = 0;
    std::int64_t since = 0;  // correlation id of the call from which on it holds
    std::int64_t stack = 0;  // 0: not known
    std::int64_t call = 0;   // correlation id of the call that has it
    auto operator<=>(const Entry&) const = default;
  };
  // In order.
  const std::vector<Entry>& entries() const { return entries_; }

  // 0: not known. `correlation`: of the call that launched the node's graph.
  std::int64_t stack_of(std::int64_t process, std::int64_t node, std::int64_t correlation) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace gpuprof::compute
