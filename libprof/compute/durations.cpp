#include "libprof/compute/durations.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "libprof/base/percentiles.hpp"

namespace gpuprof::compute {

bool Durations::grow(std::size_t group) {
  if (group >= most_groups) return false;
  groups_.resize(group + 1);
  return true;
}

void Durations::start_tally(Group& group) {
  if (tallies_ == most_tallies || !group.tally.empty()) return;
  ++tallies_;
  group.tally.resize(tally_size);
  held_ -= std::erase_if(group.values, [&](std::uint32_t value) {
    if (value >= tally_size) return false;
    ++group.tally[value];
    return true;
  });
  group.values.shrink_to_fit();
}

// Keeps the eight highest bits.
std::int64_t Durations::rounded(std::int64_t value) const {
  if (!coarse_ || value <= 0) return value;
  const int width = std::bit_width(static_cast<std::uint64_t>(value));
  const int cut = std::max(0, width - 8);
  return value >> cut << cut;
}

void Durations::count(Group& group) const {
  std::ranges::sort(group.values);
  std::ranges::sort(group.odd);
  std::vector<Same> all;
  const auto add = [&](std::int64_t value, std::uint64_t times) {
    value = rounded(value);
    if (!all.empty() && all.back().value == value) {
      all.back().times += times;
    } else {
      all.push_back({value, times});
    }
  };
  auto counted = group.counted.begin();
  const auto add_counted_below = [&](std::int64_t value) {
    for (; counted != group.counted.end() && counted->value < value; ++counted) {
      add(counted->value, counted->times);
    }
  };
  const auto add_each = [&](const auto& begin, const auto& end) {
    for (auto each = begin; each != end; ++each) {
      add_counted_below(*each);
      add(*each, 1);
    }
  };
  // Negative values in `odd` come before all others, the rest after them.
  const auto first_long = std::ranges::lower_bound(group.odd, std::int64_t{0});
  add_each(group.odd.begin(), first_long);
  add_each(group.values.begin(), group.values.end());
  add_each(first_long, group.odd.end());
  for (; counted != group.counted.end(); ++counted) add(counted->value, counted->times);
  all.shrink_to_fit();
  group.values = {};
  group.odd = {};
  group.counted = std::move(all);
}

void Durations::compact() {
  held_ = 0;
  const auto different = [&] {
    std::size_t sum = 0;
    for (Group& group : groups_) {
      count(group);
      sum += group.counted.size();
    }
    return sum;
  };
  if (different() <= most_different_ || coarse_) return;
  coarse_ = true;
  different();
}

std::optional<Spread> Durations::spread(std::size_t group) {
  if (group >= groups_.size()) return {};
  Group& its = groups_[group];
  const auto of = [](std::size_t all, auto&& at) {
    return Spread{.median = median(all, at),
                  .p50 = percentile(all, 50, at),
                  .p90 = percentile(all, 90, at),
                  .p99 = percentile(all, 99, at)};
  };
  if (its.counted.empty() && its.odd.empty() && its.tally.empty()) {
    if (its.values.empty()) return {};
    return of(its.values.size(), [&](std::size_t place) {
      const auto there = its.values.begin() + static_cast<std::ptrdiff_t>(place);
      std::ranges::nth_element(its.values, there);
      return std::int64_t{*there};
    });
  }
  count(its);
  if (!its.tally.empty()) {
    std::vector<Same> all, tallied;
    for (std::size_t value = 0; value < its.tally.size(); ++value) {
      if (its.tally[value] == 0) continue;
      tallied.push_back({static_cast<std::int64_t>(value), its.tally[value]});
    }
    std::ranges::merge(its.counted, tallied, std::back_inserter(all), {}, &Same::value,
                       &Same::value);
    its.counted = std::move(all);
    its.tally = {};
  }
  std::uint64_t all = 0;
  for (const Same& same : its.counted) all += same.times;
  return of(all, [&](std::size_t place) {
    std::uint64_t before = 0;
    for (const Same& same : its.counted) {
      before += same.times;
      if (place < before) return same.value;
    }
    return its.counted.back().value;
  });
}

}  // namespace gpuprof::compute
