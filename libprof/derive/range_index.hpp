// Which NVTX range was open at a moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::derive {

// The ranges of a file, by thread and by process. Memory: some 50 bytes per range. One thread.
class RangeIndex {
 public:
  // Reads NVTX_RANGE, which has been computed.
  explicit RangeIndex(store::Snapshot& snapshot);

  struct Match {
    std::int64_t range = 0;  // NVTX_RANGE._id_
    bool by_thread = false;  // false: of another thread of the process
  };

  bool empty() const { return around_.empty(); }
  // The innermost range of the thread; where that has none, the last that was opened in the process
  // and is still open.
  std::optional<Match> at(std::int64_t process, std::int64_t thread, std::int64_t time) const;
  // The range around a range; 0: there is none.
  std::int64_t around(std::int64_t range) const;

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
  std::unordered_map<std::int64_t, std::int64_t> around_;
};

}  // namespace gpuprof::derive
