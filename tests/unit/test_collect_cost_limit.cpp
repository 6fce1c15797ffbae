#include "libprof/collect/cost_limit.hpp"

#include <catch2/catch.hpp>

using namespace gpuprof::collect;
using namespace std::chrono_literals;

TEST_CASE("kinds are given up one a second, in order, while too much is spent") {
  CostLimit limit;
  limit.begin(0.02, 10s);
  std::vector<std::pair<int, Cut>> cuts;
  // 3 % of the time.
  for (int ms = 0; ms <= 10'000; ms += 25) {
    const std::chrono::milliseconds time(ms);
    const auto cut = limit.look(10s + time, time * 3 / 100);
    if (cut) cuts.emplace_back(ms, *cut);
    if (cut) CHECK(limit.share() == Approx(0.03).epsilon(0.05));
  }
  REQUIRE(cuts.size() == 4);
  CHECK(cuts[0] == std::pair(1000, Cut::nvtx));
  CHECK(cuts[1] == std::pair(2000, Cut::other_calls));
  CHECK(cuts[2] == std::pair(3000, Cut::launch_calls));
  CHECK(cuts[3] == std::pair(4000, Cut::none));
}

TEST_CASE("what is spent in the last second counts, and not what was before") {
  CostLimit limit;
  limit.begin(0.5, 0s);
  std::chrono::milliseconds spent{};
  for (int ms = 25; ms <= 20'000; ms += 25) {
    // 0.3 s at a time, 2 s apart: less than half of each second.
    if (ms % 2000 == 0) spent += 300ms;
    CHECK_FALSE(limit.look(std::chrono::milliseconds(ms), spent));
  }
  CHECK_FALSE(limit.look(20'400ms, spent));
  spent += 900ms;
  CHECK(limit.look(20'500ms, spent) == Cut::nvtx);
  // After a cut, time begins anew.
  CHECK_FALSE(limit.look(21'000ms, spent));
  CHECK_FALSE(limit.look(21'500ms, spent));
}

TEST_CASE("without a limit nothing is given up") {
  CostLimit limit;
  limit.begin(0, 0s);
  CHECK_FALSE(limit.look(5s, 5s));
}
