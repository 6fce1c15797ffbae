#include "libprof/compute/range_times.hpp"

#include <algorithm>

namespace gpuprof::compute {

void RangeTimes::find(std::int64_t device, std::int64_t range, const RangeParents& parents) {
  latest_ = {.device = device, .range = range, .times = {}};
  auto& of_device = times_[device];
  for (int level = 0; range != 0 && level < most_levels; ++level) {
    latest_.times.push_back(&of_device[range]);
    range = parents.around(range);
  }
  while (range != 0 && incomplete_.insert(range).second) range = parents.around(range);
}

void RangeTimes::add(const GpuWork& work, std::int64_t range, const RangeParents& parents) {
  if (range != latest_.range || work.device != latest_.device) find(work.device, range, parents);
  const bool is_kernel = work.is_kernel();
  for (Time* its : latest_.times) {
    ++its->work;
    its->kernels += is_kernel;
    its->busy.add(work.begin, work.end);
  }
}

void RangeTimes::for_each(
    const std::function<void(std::int64_t device, std::int64_t range, const Time&)>& take) const {
  for (const auto& [device, of_device] : times_) {
    std::vector<std::int64_t> in_order;
    for (const auto& [range, its] : of_device) {
      if (!incomplete_.contains(range)) in_order.push_back(range);
    }
    std::ranges::sort(in_order);
    for (const std::int64_t range : in_order) take(device, range, of_device.at(range));
  }
}

}  // namespace gpuprof::compute
