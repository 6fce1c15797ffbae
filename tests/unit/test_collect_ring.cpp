// The queue between the target's threads and ours.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "libprof/collect/extra/ring.hpp"

using namespace gpuprof;

TEST_CASE("ring: what goes in comes out in order, and no more than there is room for") {
  collect::Ring<int, 4> ring;
  int value = 0;
  CHECK(!ring.pop(value));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) CHECK(ring.push(10 * round + i));
    CHECK(!ring.push(99));
    for (int i = 0; i < 4; ++i) {
      REQUIRE(ring.pop(value));
      CHECK(value == 10 * round + i);
    }
    CHECK(!ring.pop(value));
  }
}

TEST_CASE("ring: of many writers each value comes once, and in each writer's order", "[tsan]") {
  constexpr std::uint32_t writers = 4, each = 5000;
  auto ring = std::make_unique<collect::Ring<std::uint64_t, 64>>();
  std::vector<std::thread> threads;
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (std::uint64_t i = 0; i < each; ++i) {
        while (!ring->push(std::uint64_t{writer} << 32 | i)) std::this_thread::yield();
      }
    });
  }
  std::vector<std::uint64_t> next(writers);
  std::uint64_t value = 0;
  for (std::uint32_t got = 0; got < writers * each;) {
    if (!ring->pop(value)) {
      std::this_thread::yield();
      continue;
    }
    ++got;
    REQUIRE(value >> 32 < writers);
    REQUIRE((value & 0xffffffff) == next[value >> 32]++);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(!ring->pop(value));
}
