#include "libprof/collect/costs.hpp"

#include <catch2/catch.hpp>

#include "libprof/base/clock.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;
using wire::Count;

namespace {

std::int64_t now() { return clock_ns(CLOCK_MONOTONIC); }

void work(std::int64_t ns) {
  const std::int64_t until = now() + ns;
  while (now() < until) {
  }
}

struct CostsTest {
  CostsTest() {
    REQUIRE(arena.create(4, 1 << 16));
    costs.begin();
  }
  std::int64_t spent(Count what) const {
    return static_cast<std::int64_t>(arena.ledger().get(what));
  }

  Arena arena;
  Costs costs{arena};
};

}  // namespace

TEST_CASE_METHOD(CostsTest, "some callbacks are timed, and count for the others") {
  Costs::Turn turn;
  const std::int64_t began = now();
  for (int i = 0; i < 60'000; ++i) {
    // Two kinds by turns, one of them short.
    const bool odd = i % 2 == 1;
    const Costs::Callback timed(costs, turn, odd ? Count::cost_api : Count::cost_nvtx);
    if (odd) work(2000);
  }
  const std::int64_t took = now() - began;
  CHECK(spent(Count::cost_api) > 30'000 * 2000 * 0.7);
  CHECK(spent(Count::cost_api) < took * 1.3);
  CHECK(spent(Count::cost_nvtx) < spent(Count::cost_api) / 4);
}

TEST_CASE_METHOD(CostsTest, "a callback that was interrupted counts once") {
  Costs::Turn turn;
  { const Costs::Callback first(costs, turn, Count::cost_api); }
  turn.left = 1;
  {
    const Costs::Callback timed(costs, turn, Count::cost_api);
    work(3'000'000);
  }
  CHECK(spent(Count::cost_api) > 2'900'000);
  CHECK(spent(Count::cost_api) < 64 * 2'900'000);
}

TEST_CASE_METHOD(CostsTest, "a scope within another is a part of it") {
  {
    const Costs::Scope outer(costs, Count::cost_flush);
    work(1'000'000);
    const Costs::Scope inner(costs, Count::background_packing, Costs::Scope::Clock::processor);
    work(1'000'000);
  }
  CHECK(spent(Count::cost_flush) >= 2'000'000);
  CHECK(spent(Count::background_packing) == 0);
  { const Costs::Scope next(costs, Count::background_packing, Costs::Scope::Clock::processor); }
  CHECK(spent(Count::background_packing) > 0);
}

TEST_CASE_METHOD(CostsTest, "start and end are not of the time that is recorded") {
  costs.add(Count::cost_start, 7);
  costs.add(Count::cost_end, 7);
  costs.add(Count::cost_flush, 5);
  costs.add(Count::cost_memory, 6);
  costs.add(Count::cost_memory, -1);
  CHECK(costs.of_program() == 11);
}
