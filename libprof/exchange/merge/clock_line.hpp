// Times of one machine on the clock of another.
#pragma once

#include <cstdint>
#include <optional>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::merging {

// CUPTI's clock in relation to the time of day: two moments of a run, or one.
struct ClockPair {
  struct Moment {
    std::int64_t cupti = 0, realtime = 0;
  };
  Moment first, last;
  std::optional<std::int64_t> error;  // ns that the time of day may be off; nullopt: not known
};

// From table CLOCK. Nullopt: it has none.
std::optional<ClockPair> read_clocks(store::Database& database);

// A straight line from one clock to another. Both have the same time at first.
class ClockLine {
 public:
  ClockLine() = default;
  // From the clock of `from` to that of `to`, by their times of day.
  ClockLine(const ClockPair& from, const ClockPair& to);

  bool is_same() const { return same_; }
  // A time that was not collected (0), and one that is no time of a run, stays.
  std::int64_t moved(std::int64_t time) const;

 private:
  bool same_ = true;
  std::int64_t origin_ = 0, offset_ = 0;
  double drift_ = 0;
};

}  // namespace gpuprof::merging
