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
  std::uint64_t now() const;
  // The time at which the counter stood there; 0: the line does not say.
  std::uint64_t at(std::uint64_t ticks) const;

 private:
  // time = from + (ticks - origin) * rate / 2^32
  struct Line {
    std::uint64_t origin = 0;
    std::uint64_t from = 0;
    std::uint64_t rate = 0;  // below 2^39; 0: there is no line
  };

  void start_over(const Reading& reading);
  static std::uint64_t as_rate(double rate);
  void set(const Line& line);

  struct SharedLine {
    std::atomic<std::uint64_t> origin{0}, from{0}, rate{0};
  };

  std::atomic<std::uint32_t> version_{0};  // counts the lines; the last one is at its remainder
  std::array<SharedLine, 2> lines_;

  // Of correct().
  bool usable_ = false;
  Reading older_, newer_;  // the length of ticks is measured from the older one
  int wrong_ = 0;          // corrections in turn by much
};

}  // namespace gpuprof::collect
