#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "libprof/collect/removable.hpp"

using gpuprof::collect::Removable;
using std::chrono::milliseconds;

namespace {

struct Part {
  explicit Part(int& lives) : lives_(lives) { ++lives_; }
  ~Part() { --lives_; }
  int& lives_;
};

}  // namespace

TEST_CASE("a removable part is there between put and remove") {
  int lives = 0;
  {
    Removable<Part> part;
    CHECK_FALSE(part.there());
    CHECK_FALSE(part.use());
    part.put(std::make_unique<Part>(lives));
    CHECK(part.there());
    CHECK(part.use()->lives_ == 1);
    part.put(std::make_unique<Part>(lives));
    CHECK(lives == 1);
    part.remove(milliseconds{0});
    CHECK(lives == 0);
    CHECK_FALSE(part.use());
  }
  CHECK(lives == 0);
}

TEST_CASE("a part that is used when it is removed lives on, and nobody else finds it") {
  int lives = 0;
  {
    Removable<Part> part;
    part.put(std::make_unique<Part>(lives));
    const auto use = part.use();
    part.remove(milliseconds{1});
    CHECK(lives == 1);
    CHECK(use->lives_ == 1);
    CHECK_FALSE(part.use());
    part.put(std::make_unique<Part>(lives));
    CHECK(lives == 2);
    part.keep();
    CHECK(lives == 2);
    CHECK_FALSE(part.there());
  }
  CHECK(lives == 0);
}

TEST_CASE("removing waits for the threads that use the part") {
  struct Checked {
    explicit Checked(std::atomic<int>& gone) : gone_(gone) {}
    ~Checked() { alive_ = false, ++gone_; }
    std::atomic<bool> alive_{true};
    std::atomic<int>& gone_;
  };
  constexpr int rounds = 200;
  std::atomic<int> gone{0};
  Removable<Checked> part;
  std::atomic<bool> done{false};
  std::atomic<bool> dead_ones{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done.load()) {
        if (const auto use = part.use(); use && !use->alive_.load()) dead_ones.store(true);
      }
    });
  }
  for (int i = 0; i < rounds; ++i) {
    part.put(std::make_unique<Checked>(gone));
    std::this_thread::yield();
    part.remove(milliseconds{60'000});
    REQUIRE(gone.load() == i + 1);
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(dead_ones.load());
}
