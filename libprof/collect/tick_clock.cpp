#include "libprof/collect/tick_clock.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "libprof/base/clock.hpp"
#include "libprof/collect/process_facts.hpp"

namespace gpuprof::collect {
namespace {

constexpr double one = 4294967296.0;  // 2^32: a nanosecond for each tick
// ns. The length of ticks is measured over this time at least, and over twice that later.
constexpr std::uint64_t first_span = 10'000'000, usual_span = 500'000'000;
// ns after which the line should meet the clock.
constexpr double horizon = 100e6;
// ns. A clock that is further off was set; one that is this far off several times has another pace.
constexpr std::int64_t most_error = 1'000'000, much_error = 1000;
constexpr int most_wrong = 3;
// A tick of more ns is too long for a clock.
constexpr double longest_tick = 128;

std::uint64_t time_of_day() { return static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)); }
std::uint64_t ticks() { return static_cast<std::uint64_t>(processor_ticks()); }

// ticks: a reading that takes longer was interrupted. Half a microsecond to a whole one.
std::uint64_t longest_reading() {
  static const auto by_second = static_cast<std::uint64_t>(processor_ticks_per_second());
  return by_second == 0 ? 2000 : by_second / 1'000'000;
}

std::string first_line(const char* path) {
  const std::string text = file_text(path);
  return text.substr(0, text.find('\n'));
}

// Whether the counter has one pace, in all processors, also while they sleep. The kernel compares
// them, and uses another clock where they differ.
bool ticks_are_steady() {
  const std::string name =
      first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned invariant = 1 << 8;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || !(d & invariant)) return false;
  return name == "tsc" || name == "kvm-clock" || name == "hyperv_clocksource_tsc_page";
#else
  return name == "arch_sys_counter";  // Arm's has one pace by definition
#endif
}

TickClock::Reading read_both() {
  const std::uint64_t before = ticks();
  const std::uint64_t time = time_of_day();
  const std::uint64_t width = ticks() - before;
  return {before + width / 2, time, width};
}

}  // namespace

void TickClock::begin() {
  usable_ = ticks_are_steady();
  older_ = newer_ = {};
  wrong_ = 0;
  set({});
}

void TickClock::correct() {
  if (!usable_) return;
  Reading best = read_both();
  for (int i = 0; i < 2; ++i) {
    const Reading next = read_both();
    if (next.width < best.width) best = next;
  }
  if (best.width <= longest_reading()) correct(best);
}

void TickClock::correct(const Reading& reading) {
  if (older_.time == 0 || reading.time < newer_.time) return start_over(reading);
  if (reading.time <= older_.time + first_span || reading.ticks <= older_.ticks) return;
  const double rate = one * static_cast<double>(reading.time - older_.time) /
                      static_cast<double>(reading.ticks - older_.ticks);
  if (reading.time - newer_.time > usual_span) {
    older_ = newer_;
    newer_ = reading;
  }
  const std::uint64_t expected = at(reading.ticks);
  if (expected == 0) return set({reading.ticks, reading.time, as_rate(rate)});
  const auto error = static_cast<std::int64_t>(reading.time - expected);
  wrong_ = std::abs(error) > much_error ? wrong_ + 1 : 0;
  if (std::abs(error) > most_error || wrong_ == most_wrong) {
    return start_over(reading);
  }
  set({reading.ticks, expected, as_rate(rate * (1 + static_cast<double>(error) / horizon))});
}

// The clock was set, or has changed its pace: the system is asked until that is known.
void TickClock::start_over(const Reading& reading) {
  older_ = newer_ = reading;
  wrong_ = 0;
  set({});
}

std::uint64_t TickClock::as_rate(double rate) {
  return rate > 0 && rate < longest_tick * one ? static_cast<std::uint64_t>(std::llround(rate)) : 0;
}

// Readers use the other of the two lines meanwhile. One that sees a part of this line also sees
// that the version is no longer the one it began with.
void TickClock::set(const Line& line) {
  const std::uint32_t version = version_.load(std::memory_order_relaxed) + 1;
  SharedLine& shared = lines_[version % 2];
  shared.origin.store(line.origin, std::memory_order_release);
  shared.from.store(line.from, std::memory_order_release);
  shared.rate.store(line.rate, std::memory_order_release);
  version_.store(version, std::memory_order_release);
}

std::uint64_t TickClock::system_now() { return time_of_day(); }

}  // namespace gpuprof::collect
