// What the collector takes of the target: the time of its code on the program's threads, and the
// processor's time of its own. The sums are in the ledger, so they outlive the target.
//
// Callbacks for calls, launches and NVTX are too short and too many to be timed one by one: of
// those of a thread, one in 64 is timed, chosen at random, and counts for 64. Everything else is
// timed whenever it happens.
//
// Any thread, once begin() has returned.
#pragma once

#include <cstdint>

#include "libprof/collect/arena.hpp"
#include "libprof/wire/ledger.hpp"

namespace gpuprof::collect {

class Costs {
 public:
  // Of a thread, which alone uses it.
  struct Turn {
    std::uint32_t left = 1;  // callbacks until the one that is timed
    std::uint32_t random = 0;
  };

  explicit Costs(Arena& arena) : arena_(arena) {}

  // A trace begins. Measures how long it takes to read the clock.
  void begin();

  void add(wire::Count what, std::int64_t ns);
  // Of the program's threads, without start and end, ns.
  std::int64_t of_program() const;

  // Times the callback in which it exists, if it is the callback's turn.
  class Callback {
   public:
    // Inline, as its end: code elsewhere is cold in most callbacks.
    [[gnu::always_inline]] Callback(Costs& costs, Turn& turn, wire::Count what)
        : costs_(costs), what_(what) {
      if (--turn.left == 0) [[unlikely]]
        began_ = take_turn(turn);
    }
    [[gnu::always_inline]] ~Callback() {
      if (began_ != 0) [[unlikely]]
        costs_.add_callback(what_, began_);
    }
    bool is_timed() const { return began_ != 0; }
    void count_as(wire::Count what) { what_ = what; }
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    Costs& costs_;
    wire::Count what_;
    std::int64_t began_ = 0;
  };

  // Times its scope; within another scope of the thread it is a part of that one.
  class Scope {
   public:
    enum class Clock { wall, processor };
    Scope(Costs& costs, wire::Count what, Clock clock = Clock::wall);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Costs& costs_;
    wire::Count what_;
    Clock clock_;
    std::int64_t began_ = 0;  // 0: within another scope
  };

 private:
  // Returns the time at which the callback began, in ns; 0: it is not timed.
  static std::int64_t take_turn(Turn& turn);
  void add_callback(wire::Count what, std::int64_t began);

  Arena& arena_;
  std::int64_t reading_ = 0;  // ns that pass between two readings of the clock
};

}  // namespace gpuprof::collect
