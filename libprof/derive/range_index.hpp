// Which NVTX range was open at a moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::derive {

// What range is around a range; 0: there is none. Memory: 16 bytes per range. One thread.
class RangeParents {
 public:
  // In the order of ids.
  void add(std::int64_t range, std::int64_t parent);
  std::int64_t around(std::int64_t range) const;
  bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::int64_t id, parent;
  };
  std::vector<Range> ranges_;
};

// The ranges of a file, by thread and by process. Memory: some 80 bytes per range. One thread.
class RangeIndex {
 public:
  // Reads NVTX_RANGE, which has been computed. Adds to `parents`.
  RangeIndex(store::Snapshot& snapshot, RangeParents& parents);

  struct Match {
    std::int64_t range = 0;  // NVTX_RANGE._id_
    bool by_thread = false;  // false: of another thread of the process
  };

  bool empty() const { return threads_.empty() && processes_.empty(); }
  // The innermost range of the thread; where that has none, the last that was opened in the process
  // and is still open.
  std::optional<Match> at(std::int64_t process, std::int64_t thread, std::int64_t time) const;

 private:
  // From each moment on, which range is the innermost; 0: none.
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
    mutable std::size_t latest_ = 0;  // what was asked for is near what was asked for before
  };

  static std::int64_t find(const auto& timelines, const auto& key, std::int64_t time);

  using Thread = std::pair<std::int64_t, std::int64_t>;  // process, thread
  std::map<Thread, Timeline> threads_;
  std::map<std::int64_t, Timeline> processes_;
};

}  // namespace gpuprof::derive
