// Stacks of memory calls (--stacks), as text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::memory {

bool has_stacks(store::Database& database);

// The stack of a call, sorted by correlation id.
struct CallStack {
  std::int64_t correlation = 0, stack = 0;
  bool operator<(const CallStack& other) const { return correlation < other.correlation; }
};
void read_call_stacks(store::Snapshot& snapshot, compute::Sorted<CallStack>& calls,
                      const std::function<void()>& check);

// Belongs to the database's thread and must not outlive it. Memory: the file's stacks.
class Stacks {
 public:
  Stacks(store::Database& database, const std::function<void()>& check);

  // Innermost function first: "allocate (libmodel.so) < load (train.py:12)". The called CUDA
  // functions are omitted. Empty: there is no such stack.
  std::string text(std::int64_t process, std::int64_t stack);

 private:
  struct Frame {
    std::string module, function;  // the module's file name; the mangled function
    std::int64_t offset = 0;
    bool of_python = false;
    std::int64_t line = 0;  // 0: unknown
  };
  std::string text(const Frame& frame);

  using Key = std::pair<std::int64_t, std::int64_t>;  // process, number
  std::map<Key, Frame> frames_;
  struct Entry {
    std::int64_t position = 0;
    std::int64_t frame = 0;
  };
  std::map<Key, std::vector<Entry>> stacks_;
};

}  // namespace gpuprof::memory
