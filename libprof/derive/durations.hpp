// How durations are spread, for many groups of them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuprof::derive {

struct Spread {
  std::int64_t median = 0, p50 = 0, p90 = 0, p99 = 0;  // see libprof/base/percentiles.hpp
};

// Exact, as long as they fit: 4 bytes for each, and from some number on 16 for each that is
// different within its group. Where that is too much as well they are rounded down, by less than
// 1 %. Groups with many of them tally those that are short, which takes no more memory however many
// come. One thread.
class Durations {
 public:
  static constexpr std::size_t most_values = std::size_t{4} << 20;
  static constexpr std::size_t most_different = std::size_t{1} << 20;
  static constexpr std::size_t most_groups = std::size_t{1} << 16;
  static constexpr std::size_t most_tallies = 128;
  // A tally takes as much memory as so many values.
  static constexpr std::size_t tally_size = std::size_t{1} << 16;

  explicit Durations(std::size_t most = most_values, std::size_t different = most_different)
      : most_(most), most_different_(different) {}

  // Groups are counted from 0, without gaps as far as that is possible. Those from most_groups on
  // are left out.
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
  // Nothing: there are none.
  std::optional<Spread> spread(std::size_t group);

 private:
  struct Same {
    std::int64_t value;
    std::uint64_t times;
  };
  struct Group {
    std::vector<std::uint32_t> values;
    std::vector<Same> counted;         // in order
    std::vector<std::int64_t> odd;     // too long, or below 0
    std::vector<std::uint32_t> tally;  // how many there are of 0, 1, 2, … ns; empty: not told
  };

  bool grow(std::size_t group);
  void start_tally(Group& group);
  void compact();
  void count(Group& group) const;  // makes `counted` of all but the tally
  std::int64_t rounded(std::int64_t value) const;

  std::size_t most_, most_different_;
  std::size_t held_ = 0;  // in values and odd of all groups
  std::size_t tallies_ = 0;
  bool coarse_ = false;
  std::vector<Group> groups_;
};

}  // namespace gpuprof::derive
