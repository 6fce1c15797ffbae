// Finds the NVTX range that is open at a given time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// Maps each range to its parent; 0: none. Memory: 16 bytes per range. Used by one thread.
class RangeParents {
 public:
  // In order of ids.
  void add(std::int64_t range, std::int64_t parent);
  std::int64_t around(std::int64_t range) const;
  bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::int64_t id, parent;
  };
  std::vector<Range> ranges_;
};

// The ranges of a file, by thread and by process. Memory: some 80 bytes per range. Used by one
// thread.
class RangeIndex {
 public:
  // Reads NVTX_RANGE, which must have been computed. Adds to `parents`.
  RangeIndex(store::Snapshot& snapshot, RangeParents& parents);

  struct Match {
    std::int64_t range = 0;  // NVTX_RANGE._id_
    bool by_thread = false;  // false: on another thread of the process
  };

  bool empty() const { return threads_.empty() && processes_.empty(); }
  // The innermost range of the thread; if there is none, the range of the process that was opened
  // last and is still open.
  std::optional<Match> at(std::int64_t process, std::int64_t thread, std::int64_t time) const;

 private:
  // The innermost range from each point in time on; 0: none.
  class Timeline {
   public:
    struct Range {
      std::int64_t begin, end, id;
    };
    explicit Timeline(std::vector<Range> ranges);
    std::int64_t at(std::int64_t time) const;

   private:
    std::vector<std::int64_t> from_;
    std::vector<std::int64_t> range_;
    mutable std::size_t latest_ = 0;  // lookups tend to be near the previous one
  };

  static std::int64_t find(const auto& timelines, const auto& key, std::int64_t time);

  using Thread = std::pair<std::int64_t, std::int64_t>;  // process, thread
  std::map<Thread, Timeline> threads_;
  std::map<std::int64_t, Timeline> processes_;
};

}  // namespace gpuprof::compute
