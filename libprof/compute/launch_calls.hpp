// The calls that asked for GPU work, by correlation id.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/near_times.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/chunk.hpp"

namespace gpuprof::compute {

struct LaunchCall {
  std::int64_t correlation = 0;
  std::int64_t begin = 0, end = 0;  // ns on CUPTI's clock; 0: not collected
  std::int64_t function = 0;        // as in HostCall
};

// Used by one thread. Memory: what Sorted uses, and one bit per call.
class LaunchCalls {
 public:
  // `kept`: what of them stays in memory once it is sorted, bytes.
  explicit LaunchCalls(std::size_t kept)
      : calls_(default_sort_memory / sizeof(Stored), kept / sizeof(Stored)) {}

  struct Columns {
    bool of_driver = false;
    const columns::Column &correlation, &cbid, &start, &end;
  };

  // Which calls are wanted: those near some times, and those with some of the ids. Null: all are.
  struct Wanted {
    NearTimes* times = nullptr;
    const CorrelationSet* also = nullptr;

    bool have(std::int64_t correlation, std::int64_t begin, std::int64_t end) const {
      return !times || times->have(begin, end) || also->contains(correlation);
    }
  };

  // Add calls of the runtime before those of the driver: if several have the same id, the first
  // counts. `asked_for`: ids of the work that calls requested. Throws Error when neither memory nor
  // the disk has room.
  void add(const Columns& calls, const CorrelationSet& asked_for, const Wanted& wanted);

  // Calls visit(call) in the order of the ids, once for each; may be repeated. Nothing may be added
  // afterwards.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::int64_t latest = 0;
    calls_.for_each([&](const Stored& call) {
      // If there are too many ids to track, later calls are still there.
      if (call.correlation != latest) visit(call.unpacked());
      latest = call.correlation;
    });
  }

 private:
  // There are as many as kernels, so they are small. A call takes less than 19 hours, and CUDA has
  // fewer functions than fit: what a forged file says beyond that is cut off.
  struct Stored {
    static constexpr std::uint64_t longest = (std::uint64_t{1} << 46) - 2, no_end = longest + 1;
    static constexpr std::int64_t last_function = (1 << 17) - 1;

    std::int64_t correlation, begin;
    std::uint64_t length : 46;
    std::uint64_t of_driver : 1;
    std::uint64_t cbid : 17;

    LaunchCall unpacked() const;
    bool operator<(const Stored& other) const { return correlation < other.correlation; }
  };
  static_assert(sizeof(Stored) == 24);

  Sorted<Stored> calls_;
  CorrelationSet known_;  // ids in calls_
};

}  // namespace gpuprof::compute
