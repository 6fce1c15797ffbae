// The lines of Python that calls came from (--stacks=launches).
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

// "model.py:88 Model.forward"; "not in Python" without a file and a function.
std::string line_words(const CodeLine& line);

// Whether it is a file of Python's own library: "/usr/lib/python3.12/threading.py".
bool is_of_python(std::string_view file);

// Whether a file of Python is not the user's own, but of an installed package or of Python, or made
// while the program ran.
bool is_library(std::string_view file);

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
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, stack

  std::vector<CodeLine> lines_;
  std::map<Key, std::uint32_t> by_stack_;
};

// The lines that made the nodes of CUDA graphs (GRAPH_NODE): of a clone, that of its original.
// Memory: the file's nodes.
class NodeLines {
 public:
  // `calls`: all calls with their lines.
  NodeLines(store::Database& database, Sorted<CodeLines::Call>& calls,
            const std::function<void()>& check);

  // 0: not known.
  std::uint32_t line_of(std::int64_t process, std::int64_t node) const;

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> lines_;  // by process and node
};

}  // namespace gpuprof::compute
