#include "libprof/compute/launch_times.hpp"

#include <optional>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/compute/host_calls.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {

LaunchTimes::SameNames LaunchTimes::same_names(store::Database& database,
                                               const std::set<std::int32_t>& kernels) {
  store::Statement find =
      database.prepare("SELECT coalesce(demangled, value) FROM main.StringTable WHERE _id_ = ?1");
  std::unordered_map<std::string, std::int32_t> by_name;
  SameNames same;
  for (const std::int32_t kernel : kernels) {
    find.bind(1, std::int64_t{kernel});
    if (find.step() && !find.is_null(0)) {
      same[kernel] = by_name.try_emplace(std::string(find.text(0)), kernel).first->second;
    }
    find.reset();
  }
  return same;
}

void LaunchTimes::unless_full(auto&& add) {
  if (gave_up_) return;
  try {
    add();
  } catch (const store::DatabaseError&) {
    throw;
  } catch (const Error&) {
    gave_up_ = true;
  }
}

void LaunchTimes::add(const KernelRows& kernels) {
  unless_full([&] {
    for (std::size_t i = 0; i < kernels.count; ++i) {
      if (kernels.correlation[i] == 0 || kernels.begin[i] == 0) continue;
      launches_.emplace(kernels.correlation[i], kernels.begin[i], kernels.name[i]);
    }
  });
}

std::uint32_t LaunchTimes::function_of(std::int64_t number, const CallTimes& functions) {
  const std::string* name = functions.name_of(
      is_of_driver(number) ? CallTimes::driver : CallTimes::runtime, cbid_of(number));
  const auto [known, fresh] = by_name_.try_emplace(name ? *name : std::string(),
                                                   static_cast<std::uint32_t>(functions_.size()));
  if (fresh) functions_.push_back(known->first);
  return known->second;
}

LaunchTimes::Join::Join(LaunchTimes& times, const CallTimes& functions, const SameNames& same)
    : times_(times), functions_(functions), same_(same) {
  times_.unless_full([&] { launch_.emplace(times_.launches_); });
}

void LaunchTimes::Join::take(const LaunchCall& call) {
  times_.unless_full([&] { take_all(call); });
}

void LaunchTimes::Join::take_all(const LaunchCall& call) {
  Sorted<Launch>::Cursor& launch = *launch_;
  while (!launch.at_end() && launch.front().correlation < call.correlation) launch.advance();
  if (launch.at_end() || launch.front().correlation != call.correlation) return;
  if (call.function != latest_) function_ = times_.function_of(call.function, functions_);
  latest_ = call.function;
  for (; !launch.at_end() && launch.front().correlation == call.correlation; launch.advance()) {
    times_.add(launch.front(), call, function_, same_);
  }
}

std::int32_t LaunchTimes::first_of_its_name(std::int32_t kernel, const SameNames& same) {
  const auto [known, fresh] = first_.try_emplace(kernel, kernel);
  const auto its = fresh ? same.find(kernel) : same.end();
  if (its != same.end())
    known->second = first_by_name_.try_emplace(its->second, kernel).first->second;
  return known->second;
}

void LaunchTimes::add(const Launch& launch, const LaunchCall& call, std::uint32_t function,
                      const SameNames& same) {
  if (call.begin == 0) return;  // not collected
  const std::int32_t kernel = first_of_its_name(launch.kernel, same);
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(kernel)} << 32 | function;
  const auto [known, fresh] = by_key_.try_emplace(key, groups_.size());
  if (fresh) {
    if (groups_.size() == Durations::most_groups) {
      throw Error("too many kernels and functions that launch them");
    }
    groups_.push_back({kernel, function, {}, {}});
  }
  Group& group = groups_[known->second];
  const std::int64_t latency = saturating_subtract(launch.start, call.begin);
  group.latency.add(latency);
  latencies_.add(known->second, latency);
  if (call.end != 0) group.calls.add(saturating_subtract(call.end, call.begin));
}

void LaunchTimes::write(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::launch_time);
  if (gave_up_) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    const auto spread = latencies_.spread(i);
    if (!spread) continue;
    insert.bind(1, std::int64_t{group.kernel}).bind(2, functions_[group.function]);
    insert.bind(3, group.latency.timed).bind(4, group.latency.shortest).bind(5, spread->p50);
    insert.bind(6, spread->p90).bind(7, spread->p99).bind(8, group.latency.longest);
    insert.bind(9, group.calls.timed).bind(10, group.calls.total).run();
  }
}

}  // namespace gpuprof::compute
