#include "libprof/compute/launch_calls.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/host_calls.hpp"

namespace gpuprof::compute {

LaunchCall LaunchCalls::Stored::unpacked() const {
  return {.correlation = correlation,
          .begin = begin,
          .end = length == no_end ? 0 : saturating_add(begin, static_cast<std::int64_t>(length)),
          .function = function_number(of_driver, static_cast<std::int64_t>(cbid))};
}

void LaunchCalls::add(const Columns& calls, const CorrelationSet& asked_for, const Wanted& wanted) {
  const auto correlation = calls.correlation.int64s(), cbid = calls.cbid.int64s(),
             start = calls.start.int64s(), end = calls.end.int64s();
  for (std::size_t i = 0; i < correlation.size(); ++i) {
    const std::int64_t id = correlation[i];
    if (id == 0 || !wanted.have(id, start[i], end[i]) || !asked_for.contains(id)) continue;
    if (!known_.is_full() && known_.contains(id)) continue;
    known_.add(id);
    const bool ended = end[i] > 0 && end[i] >= start[i];
    const auto length = static_cast<std::uint64_t>(saturating_subtract(end[i], start[i]));
    const auto function = std::clamp<std::int64_t>(cbid[i], 0, Stored::last_function);
    calls_.emplace(id, start[i], ended ? std::min(length, Stored::longest) : Stored::no_end,
                   std::uint64_t{calls.of_driver}, static_cast<std::uint64_t>(function));
  }
}

}  // namespace gpuprof::compute
