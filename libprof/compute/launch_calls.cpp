#include "libprof/compute/launch_calls.hpp"

#include "libprof/compute/host_calls.hpp"

namespace gpuprof::compute {

void LaunchCalls::add(const Columns& calls, const CorrelationSet& asked_for, const Wanted& wanted) {
  const auto correlation = calls.correlation.int64s(), cbid = calls.cbid.int64s(),
             start = calls.start.int64s(), end = calls.end.int64s();
  for (std::size_t i = 0; i < correlation.size(); ++i) {
    const std::int64_t id = correlation[i];
    if (id == 0 || !wanted.has(id, start[i], end[i]) || !asked_for.contains(id)) continue;
    if (!known_.is_full() && known_.contains(id)) continue;
    known_.add(id);
    calls_.add({id, start[i], end[i], function_number(calls.of_driver, cbid[i])});
  }
}

}  // namespace gpuprof::compute
