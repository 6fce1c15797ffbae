#include "libprof/derive/kernel_times.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/derive/fill.hpp"
#include "schema/derived.hpp"

namespace gpuprof::derive {

void KernelTimes::add(const KernelRows& kernels) {
  std::unordered_map<std::int32_t, std::size_t>* of_device = nullptr;
  std::int64_t device = 0;
  for (std::size_t i = 0; i < kernels.count; ++i) {
    if (!of_device || device != kernels.device[i]) of_device = &groups_[kernels.device[i]];
    device = kernels.device[i];
    auto group = of_device->find(kernels.name[i]);
    if (group == of_device->end()) {
      if (group_count_ == Durations::most_groups) continue;
      group = of_device->emplace(kernels.name[i], group_count_++).first;
    }
    if (kernels.begin[i] == 0 || kernels.end[i] == 0) continue;  // not collected
    durations_.add(group->second, saturating_subtract(kernels.end[i], kernels.begin[i]));
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
      if (!spread) continue;
      insert.bind(1, device).bind(2, std::int64_t{name}).bind(3, spread->median);
      insert.bind(4, spread->p90).bind(5, spread->p99).run();
    }
  }
}

}  // namespace gpuprof::derive
