#include "libprof/collect/tick_clock.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace gpuprof::collect;

namespace {

// A counter, of 2.6 GHz, and a clock whose pace differs by `ppm`, both since long ago.
struct Machine {
  std::uint64_t ticks_at(double ns) const {
    return 1'000'000'000'000 + static_cast<std::uint64_t>(per_ns * ns);
  }
  std::uint64_t time_at(double ns) const {
    return 1'700'000'000'000'000'000 +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(ns * (1 + ppm * 1e-6)) + set_by);
  }
  TickClock::Reading read(double ns) {
    return {ticks_at(ns), time_at(ns) + static_cast<std::uint64_t>(noise(random)), 100};
  }

  double per_ns = 2.6;
  double ppm = 0;
  std::int64_t set_by = 0;
  std::mt19937 random{7};
  std::uniform_int_distribution<int> noise{-0, 40};
};

constexpr double ms = 1e6;

}  // namespace

TEST_CASE("the time by ticks is within 200 ns of the system's, and does not go back") {
  TickClock clock;
  Machine machine;
  machine.ppm = 40;
  CHECK(clock.at(machine.ticks_at(1)) == 0);
  std::uint64_t last = 0;
  std::int64_t worst = 0;
  for (int at = 0; at < 4000; at += 25) {
    clock.correct(machine.read(at * ms));
    // The pace changes, as when NTP corrects it.
    if (at == 2000) machine.ppm = 40.5;
    if (at == 2000) machine.set_by = -1000;  // so that the time does not jump
    if (at < 50) continue;
    for (int i = 0; i < 100; ++i) {
      const double ns = at * ms + i * ms / 4;
      const std::uint64_t time = clock.at(machine.ticks_at(ns));
      REQUIRE(time >= last);
      last = time;
      worst = std::max(worst, std::abs(static_cast<std::int64_t>(time - machine.time_at(ns))));
    }
  }
  CHECK(worst <= 200);
}

TEST_CASE("after the system's clock was set, the system is asked until ticks are known again") {
  TickClock clock;
  Machine machine;
  for (int at = 0; at <= 1000; at += 25) clock.correct(machine.read(at * ms));
  REQUIRE(clock.at(machine.ticks_at(1001 * ms)) != 0);
  machine.set_by = -3'600'000'000'000;
  clock.correct(machine.read(1025 * ms));
  CHECK(clock.at(machine.ticks_at(1026 * ms)) == 0);
  for (int at = 1050; at <= 1100; at += 25) clock.correct(machine.read(at * ms));
  const auto time = clock.at(machine.ticks_at(1101 * ms));
  CHECK(std::abs(static_cast<std::int64_t>(time - machine.time_at(1101 * ms))) <= 200);
}

TEST_CASE("a line that nobody corrects ends") {
  TickClock clock;
  Machine machine;
  for (int at = 0; at <= 100; at += 25) clock.correct(machine.read(at * ms));
  CHECK(clock.at(machine.ticks_at(800 * ms)) != 0);
  CHECK(clock.at(machine.ticks_at(1000 * ms)) == 0);
  // It begins anew.
  for (int at = 1000; at <= 1050; at += 25) clock.correct(machine.read(at * ms));
  CHECK(clock.at(machine.ticks_at(1060 * ms)) != 0);
}

TEST_CASE("Arm's counters, of 1 GHz and of 25 MHz, are clocks") {
  for (const double per_ns : {1.0, 0.025}) {
    TickClock clock;
    Machine machine;
    machine.per_ns = per_ns;
    machine.ppm = 40;
    for (int at = 0; at <= 1000; at += 25) clock.correct(machine.read(at * ms));
    std::int64_t worst = 0;
    for (double ns = 1000 * ms; ns < 1025 * ms; ns += 7e4) {
      const auto time = static_cast<std::int64_t>(clock.at(machine.ticks_at(ns)));
      worst = std::max(worst, std::abs(time - static_cast<std::int64_t>(machine.time_at(ns))));
    }
    CHECK(worst <= 200);
    // It ends as others do.
    CHECK(clock.at(machine.ticks_at(1700 * ms)) != 0);
    CHECK(clock.at(machine.ticks_at(1900 * ms)) == 0);
  }
}

TEST_CASE("counters that are too slow are no clock") {
  TickClock clock;
  for (std::uint64_t i = 1; i < 100; ++i) clock.correct({i * 25'000, i * 25'000'000, 1});
  CHECK(clock.at(100 * 25'000) == 0);
}
