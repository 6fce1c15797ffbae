// Decides when the collector costs the program more than the user allows (--budget), and what is no
// longer recorded then. Costs are those of costs.hpp on the program's threads, as a share of the
// time that passes. One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace gpuprof::collect {

// What is no longer recorded, in this order. Kernels, copies and sets always are.
enum class Cut : std::uint8_t {
  nvtx,          // marks and ranges
  other_calls,   // waits, and calls that request no work of the GPU
  launch_calls,  // calls that do; the work keeps their correlation ids
  none,          // there is nothing more
};

// As in "no more … are recorded".
const char* text_of(Cut cut);

class CostLimit {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // A trace begins. `limit`: a share of the time, 1 = all; 0: there is no limit.
  void begin(double limit, Nanoseconds now);
  bool limits() const { return limit_ > 0; }
  double limit() const { return limit_; }

  // `spent`: all costs since the trace began. Returns what to give up, because more was spent in
  // the last second; nullopt: nothing now.
  std::optional<Cut> look(Nanoseconds now, Nanoseconds spent);
  // The share that was spent in that second.
  double share() const { return share_; }

 private:
  struct Mark {
    Nanoseconds time{};
    Nanoseconds spent{};
  };

  double limit_ = 0;
  double share_ = 0;
  std::array<Mark, 2> marks_{};  // a second ago, and half of one
  Cut next_ = Cut::nvtx;
  bool over_ = false;  // nothing more is to be given up
};

}  // namespace gpuprof::collect
