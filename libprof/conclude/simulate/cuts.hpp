// Host time that a change takes away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/schedule.hpp"

namespace gpuprof::simulate {

// For each process, periods that its threads no longer need: in gaps, before the launch that ended
// the gap; of calls that allocate or load code, of being away and of launches also those in which
// the GPU worked.
class Cuts {
 public:
  Cuts(const Schedule& schedule, const Change& change);

  // The time, without what was cut before it.
  std::int64_t without(std::uint32_t process, std::int64_t time) {
    if (!any_) return time;
    return time - cut_before(by_process_[process], time);
  }

 private:
  struct Cut {
    std::int64_t begin = 0, end = 0;
    std::int64_t before = 0;  // length of all that are earlier
  };
  struct OfProcess {
    std::vector<Cut> cuts;  // in time order, not overlapping
    std::size_t latest = 0;
  };
  // What calls that allocate or load code took while the GPU worked.
  void cut_calls(const Schedule& schedule, const Change& change);
  void cut_gap(const Schedule& schedule, const Gap& gap, const Change& change);
  // From one launch of a stream, the latest, to the next, unless the host waited between them.
  void cut_launch(const Schedule& schedule, const Work& work, const Work*& latest);
  void cut(std::uint32_t process, std::int64_t begin, std::int64_t end);
  static std::int64_t cut_before(OfProcess& process, std::int64_t time);
  static void put_in_order(std::vector<Cut>& cuts);

  std::vector<OfProcess> by_process_;
  bool any_ = false;
};

}  // namespace gpuprof::simulate
