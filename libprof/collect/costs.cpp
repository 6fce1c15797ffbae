#include "libprof/collect/costs.hpp"

#include <algorithm>
#include <limits>

#include "libprof/base/clock.hpp"

namespace gpuprof::collect {
namespace {

// One of this number of callbacks is timed, on average.
constexpr std::uint32_t one_in = 64;
// A callback that took longer, in ns, was interrupted, or did what few do; so it counts once.
constexpr std::int64_t longest = 100'000;

std::int64_t now() { return clock_ns(CLOCK_MONOTONIC); }

std::int64_t now(Costs::Scope::Clock clock) {
  return clock == Costs::Scope::Clock::wall ? now() : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

constinit thread_local bool in_scope = false;

}  // namespace

void Costs::begin() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 32; ++i) {
    const std::int64_t before = now();
    least = std::min(least, now() - before);
  }
  reading_ = least;
}

void Costs::add(wire::Count what, std::int64_t ns) {
  if (ns > 0) arena_.ledger().add(what, static_cast<std::uint64_t>(ns));
}

std::int64_t Costs::of_program() const {
  using enum wire::Count;
  std::uint64_t sum = 0;
  for (const auto what :
       {cost_api, cost_launches, cost_nvtx, cost_memory, cost_contexts, cost_flush, cost_samples}) {
    sum += arena_.ledger().get(what);
  }
  return static_cast<std::int64_t>(sum);
}

// Steps of random length, because callbacks follow one another in a pattern.
std::int64_t Costs::take_turn(Turn& turn) {
  const bool first = turn.random == 0;
  // An xorshift generator, which must not be 0.
  if (first) turn.random = static_cast<std::uint32_t>(now()) | 1;
  turn.random ^= turn.random << 13;
  turn.random ^= turn.random >> 17;
  turn.random ^= turn.random << 5;
  turn.left = 1 + turn.random % (2 * one_in - 1);  // 64 on average
  return first ? 0 : now();
}

void Costs::add_callback(wire::Count what, std::int64_t began) {
  const std::int64_t took = now() - began - reading_;
  add(what, took > longest ? took : took * one_in);
}

Costs::Scope::Scope(Costs& costs, wire::Count what, Clock clock)
    : costs_(costs), what_(what), clock_(clock) {
  if (in_scope) return;
  in_scope = true;
  began_ = now(clock);
}

Costs::Scope::~Scope() {
  if (began_ == 0) return;
  in_scope = false;
  costs_.add(what_, now(clock_) - began_);
}

}  // namespace gpuprof::collect
