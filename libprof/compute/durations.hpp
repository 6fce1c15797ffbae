// The spread of durations, for many groups at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuprof::compute {

struct Spread {
  std::int64_t median = 0, p50 = 0, p90 = 0, p99 = 0;  // see libprof/base/percentiles.hpp
};

// Exact as long as memory allows: 4 bytes per duration and, beyond some number, 16 per distinct
// value within its group. If that is too much as well, values are rounded down by less than 1 %.
// Large groups tally their short durations, in constant memory. Used by one thread.
class Durations {
 public:
  static constexpr std::size_t most_values = std::size_t{4} << 20;
  static constexpr std::size_t most_different = std::size_t{1} << 20;
  static constexpr std::size_t most_groups = std::size_t{1} << 16;
  static constexpr std::size_t most_tallies = 128;
  // A tally uses as much memory as this many values.
  static constexpr std::size_t tally_size = std::size_t{1} << 16;

  explicit Durations(std::size_t most = most_values, std::size_t different = most_different)
      : most_(most), most_different_(different) {}

  // Groups are numbered from 0, without gaps if possible. Groups from most_groups on are ignored.
  void add(std::size_t group, std::int64_t duration) {
    if (group >= groups_.size() && !grow(group)) return;
    Group& its = groups_[group];
    if (static_cast<std::uint64_t>(duration) < its.tally.size()) {
      ++its.tally[static_cast<std::size_t>(duration)];
      return;
    }
    if (duration >= 0 && duration <= UINT32_MAX) {
      its.values.push_back(static_cast<std::uint32_t>(duration));
      if (its.values.size() == tally_size) start_tally(its);
    } else {
      its.odd.push_back(duration);
    }
    if (++held_ == most_) compact();
  }
  // Nullopt: the group has none.
  std::optional<Spread> spread(std::size_t group);

 private:
  struct Same {
    std::int64_t value;
    std::uint64_t times;
  };
  struct Group {
    std::vector<std::uint32_t> values;
    std::vector<Same> counted;         // sorted
    std::vector<std::int64_t> odd;     // too long or negative
    std::vector<std::uint32_t> tally;  // number of durations of 0, 1, 2, … ns; empty: no tally
  };

  bool grow(std::size_t group);
  void start_tally(Group& group);
  void compact();
  void count(Group& group) const;  // builds `counted` from all but the tally
  std::int64_t rounded(std::int64_t value) const;

  std::size_t most_, most_different_;
  std::size_t held_ = 0;  // in values and odd, over all groups
  std::size_t tallies_ = 0;
  bool coarse_ = false;
  std::vector<Group> groups_;
};

}  // namespace gpuprof::compute
