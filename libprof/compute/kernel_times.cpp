#include "libprof/compute/kernel_times.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {

void KernelTimes::add(const KernelRows& kernels) {
  std::unordered_map<std::int32_t, std::size_t>* of_device = nullptr;
  std::int64_t device = 0;
  for (std::size_t i = 0; i < kernels.count; ++i) {
    if (!of_device || device != kernels.device[i]) of_device = &groups_[kernels.device[i]];
    device = kernels.device[i];
    auto group = of_device->find(kernels.name[i]);
    if (group == of_device->end()) {
      if (sums_.size() == Durations::most_groups) {
        complete_ = false;
        continue;
      }
      group = of_device->emplace(kernels.name[i], sums_.size()).first;
      sums_.emplace_back();
    }
    const std::int64_t begin = kernels.begin[i], end = kernels.end[i];
    Sum& sum = sums_[group->second];
    ++sum.count;
    if (begin != 0 && (sum.first == 0 || begin < sum.first)) sum.first = begin;
    if (end != 0 && (sum.last == 0 || end > sum.last)) sum.last = end;
    if (begin == 0 || end == 0) continue;  // not collected
    const std::int64_t duration = saturating_subtract(end, begin);
    durations_.add(group->second, duration);
    sum.durations.add(duration);
  }
}

std::set<std::int32_t> KernelTimes::names() const {
  std::set<std::int32_t> ids;
  for (const auto& [device, names] : groups_) {
    for (const auto& [name, group] : names) ids.insert(name);
  }
  return ids;
}

void KernelTimes::write(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::kernel_time);
  for (const auto& [device, names] : groups_) {
    std::vector<std::pair<std::int32_t, std::size_t>> in_order(names.begin(), names.end());
    std::ranges::sort(in_order);
    for (const auto& [name, group] : in_order) {
      const auto spread = durations_.spread(group);
      if (!spread && !complete_) continue;
      const Sum& sum = sums_[group];
      insert.bind(1, device).bind(2, std::int64_t{name});
      for (int column = 3; column <= 12; ++column) insert.bind_null(column);
      if (spread) insert.bind(3, spread->median).bind(4, spread->p90).bind(5, spread->p99);
      if (complete_) {
        insert.bind(6, sum.count).bind(7, sum.durations.timed);
        if (sum.first != 0) insert.bind(11, sum.first);
        if (sum.last != 0) insert.bind(12, sum.last);
        if (spread) {
          insert.bind(8, sum.durations.total).bind(9, sum.durations.shortest);
          insert.bind(10, sum.durations.longest);
        }
      }
      insert.run();
    }
  }
}

}  // namespace gpuprof::compute
