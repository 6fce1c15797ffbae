#include <algorithm>
#include <array>

#include "libprof/base/percentiles.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/read_schedule.hpp"
#include "schema/traits.hpp"

namespace gpuprof::simulate {
namespace {

// Finds the calls of works: these come nearly in the order of the calls.
class CallFinder {
 public:
  explicit CallFinder(const Read& read) : calls_(read.calls) {}

  std::uint32_t find(std::int64_t correlation) {
    for (std::size_t near = place_; near < calls_.size() && near < place_ + 3; ++near) {
      if (calls_[near].correlation == correlation) return take(near);
    }
    const auto found = std::ranges::lower_bound(calls_, correlation, {}, &Call::correlation);
    if (found == calls_.end() || found->correlation != correlation) return none;
    return take(static_cast<std::size_t>(found - calls_.begin()));
  }

 private:
  std::uint32_t take(std::size_t place) {
    place_ = place;
    return static_cast<std::uint32_t>(place);
  }

  const LargeVector<Call>& calls_;
  std::size_t place_ = 0;
};

// What works took to reach the GPU that found their stream empty: from the end of the call, or, if
// the call waited for them, from its begin. What began later than a launch takes waited for more.
class Latencies {
 public:
  void add(const Work& work, bool waited_for, std::int64_t latency) {
    if (!waited_for && latency > compute::launch_latency) return;
    auto& its = samples_[work.kind][waited_for];
    if (its.size() < most) its.push_back(latency);
  }
  // The lower quartiles: some of the works waited for more than their launch, and some calls
  // returned late. 0 where none are known. What is not more than the upper quartile by 1.5 times
  // the distance of the two is not an exception.
  void finish() {
    for (std::size_t kind = 0; kind < samples_.size(); ++kind) {
      for (std::size_t i = 0; i < 2; ++i) {
        auto& all = samples_[kind][i];
        if (all.empty()) continue;
        const std::int64_t lower = at_place(all, all.size() / 4);
        const std::int64_t upper = at_place(all, 3 * all.size() / 4);
        const std::int64_t more = saturating_multiply(saturating_subtract(upper, lower) / 2, 3);
        usual_[kind][i] = {.lower = lower, .longest = saturating_add(upper, more)};
      }
    }
  }
  // When work that was launched then was ready.
  std::int64_t ready(const Work& work, bool waited_for, std::int64_t launched) const {
    const Usual& usual = usual_[work.kind][waited_for];
    const std::int64_t least = saturating_add(launched, usual.lower);
    const std::int64_t longest = saturating_add(launched, usual.longest);
    return work.begin > least && work.begin <= longest ? work.begin : least;
  }

 private:
  struct Usual {
    std::int64_t lower = 0, longest = 0;
  };
  static constexpr std::size_t most = 100'000;
  using Kinds = std::tuple_size<decltype(schema::gpu_kinds)>;

  std::array<std::array<std::vector<std::int64_t>, 2>, Kinds::value> samples_;
  std::array<std::array<Usual, 2>, Kinds::value> usual_{};
};

}  // namespace

bool is_waited_for(const Read& read, std::uint32_t work) {
  const Work& copy = read.schedule.works[work];
  return (copy.copied & (pageable_copies | blocking_copies)) != 0 && read.calls_of[work] != none &&
         read.calls[read.calls_of[work]].end() > copy.begin;
}

void join_launches(Read& read) {
  Schedule& schedule = read.schedule;
  const auto count = static_cast<std::uint32_t>(schedule.works.size());
  read.calls_of.assign(count, none);
  CallFinder calls(read);
  Latencies latencies;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (read.correlations[i] == 0) continue;
    const Work& work = schedule.works[i];
    const std::uint32_t found = calls.find(read.correlations[i]);
    if (found == none || read.calls[found].begin > work.begin) continue;
    read.calls_of[i] = found;
    const std::uint32_t before = read.before[i];
    const Call& call = read.calls[found];
    if (work.fixed || (before != none && schedule.works[before].end() > call.begin)) continue;
    const bool waited_for = is_waited_for(read, i);
    latencies.add(work, waited_for, work.begin - (waited_for ? call.begin : call.end()));
  }
  read.correlations = {};
  latencies.finish();
  for (std::uint32_t i = 0; i < count; ++i) {
    Work& work = schedule.works[i];
    if (read.calls_of[i] == none || work.fixed) continue;
    const Call& call = read.calls[read.calls_of[i]];
    const bool waited_for = is_waited_for(read, i);
    const std::int64_t launched = waited_for ? call.begin : call.end();
    work.ready = std::clamp(latencies.ready(work, waited_for, launched), call.begin, work.begin);
    if (work.direction != 1) continue;
    const std::uint32_t over = find_before(read, read.before[i], INT64_MAX, call.begin);
    if (over != none) schedule.before_launch.emplace_back(i, over);
  }
}

}  // namespace gpuprof::simulate
