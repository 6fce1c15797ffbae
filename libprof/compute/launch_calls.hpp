// The calls that asked for GPU work, by correlation id.
#pragma once

#include <cstdint>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/chunk.hpp"

namespace gpuprof::compute {

struct LaunchCall {
  std::int64_t correlation = 0;
  std::int64_t begin = 0, end = 0;  // ns on CUPTI's clock; 0: not collected
  std::int64_t function = 0;        // as in HostCall

  bool operator<(const LaunchCall& other) const { return correlation < other.correlation; }
};

// Used by one thread. Memory: what Sorted uses, and one bit per call.
class LaunchCalls {
 public:
  struct Columns {
    bool of_driver = false;
    const columns::Column &correlation, &cbid, &start, &end;
  };

  // Which calls are wanted: those that run in a period, and those with some of the ids.
  struct Wanted {
    std::int64_t from = INT64_MIN, to = INT64_MAX;
    const CorrelationSet* also = nullptr;

    bool has(std::int64_t correlation, std::int64_t begin, std::int64_t end) const {
      return (end >= from && begin < to) || (also && also->contains(correlation));
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
    calls_.for_each([&](const LaunchCall& call) {
      // If there are too many ids to track, later calls are still there.
      if (call.correlation != latest) visit(call);
      latest = call.correlation;
    });
  }

 private:
  Sorted<LaunchCall> calls_;
  CorrelationSet known_;  // ids in calls_
};

}  // namespace gpuprof::compute
