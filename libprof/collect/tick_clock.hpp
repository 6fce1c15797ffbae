// The system's time of day by the processor's counter of ticks: reading that takes a fraction of
// what clock_gettime takes, above all in virtual machines.
//
// A line, from ticks to time, follows the system's clock: correct() compares the two and bends the
// line, so that it meets the clock again a moment later. So the time neither jumps nor goes back.
// Where ticks are no clock, or do not agree with the system's, now() asks the system.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "libprof/base/clock.hpp"

namespace gpuprof::collect {

class TickClock {
 public:
  struct Reading {
    std::uint64_t ticks = 0;
    std::uint64_t time = 0;   // ns
    std::uint64_t width = 0;  // ticks that passed meanwhile
  };

  // A trace begins: until correct() knows how long ticks are, the system is asked. One thread.
  void begin();
  // Call a few times a second; one thread.
  void correct();
  // The same with a reading, for tests.
  void correct(const Reading& reading);

  // CLOCK_REALTIME in ns. Any thread.
  std::uint64_t now() const {
    const std::uint64_t time =
        by_line([] { return static_cast<std::uint64_t>(processor_ticks()); });
    return time != 0 ? time : system_now();
  }
  // The time at which the counter stood there; 0: the line does not say.
  std::uint64_t at(std::uint64_t ticks) const {
    return by_line([ticks] { return ticks; });
  }

 private:
  // time = from + (ticks - origin) * rate / 2^32
  struct Line {
    std::uint64_t origin = 0;
    std::uint64_t from = 0;
    std::uint64_t rate = 0;  // below 2^39; 0: there is no line
  };

  // ns. A line goes on for this long after it was last corrected.
  static constexpr std::int64_t longest_line = 800'000'000;

  // Without a line, the ticks are not read: that would take time for nothing.
  template <class Ticks>
  std::uint64_t by_line(Ticks&& ticks) const {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    const SharedLine& line = lines_[version % 2];
    const auto rate = static_cast<std::int64_t>(line.rate.load(std::memory_order_acquire));
    if (rate == 0) return 0;
    const std::uint64_t from = line.from.load(std::memory_order_acquire);
    const std::uint64_t origin = line.origin.load(std::memory_order_acquire);
    // A thread that was interrupted for long may have read half of a newer line.
    if (version_.load(std::memory_order_relaxed) != version) return 0;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(ticks() - origin), rate, &product)) {
      return 0;
    }
    const std::int64_t passed = product >> 32;
    if (passed >= longest_line || passed <= -longest_line) return 0;
    return from + static_cast<std::uint64_t>(passed);
  }

  static std::uint64_t system_now();
  void start_over(const Reading& reading);
  static std::uint64_t as_rate(double rate);
  void set(const Line& line);

  struct SharedLine {
    std::atomic<std::uint64_t> origin{0}, from{0}, rate{0};
  };

  // Counts the lines; the last one is at its remainder. In one line of the cache with that.
  alignas(64) std::atomic<std::uint32_t> version_{0};
  std::array<SharedLine, 2> lines_;

  // Of correct().
  bool usable_ = false;
  Reading older_, newer_;  // the length of ticks is measured from the older one
  int wrong_ = 0;          // corrections in turn by much
};

}  // namespace gpuprof::collect
