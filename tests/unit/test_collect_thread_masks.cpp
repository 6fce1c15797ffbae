#include "libprof/collect/extra/thread_masks.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace gpuprof::collect;
using namespace std::chrono_literals;
using Finding = MaskSightings::Finding;

namespace {

constexpr std::uint64_t bit = std::uint64_t{1} << (SIGURG - 1);

}  // namespace

TEST_CASE("sightings of masks: a thread that sleeps or blocks is known at once") {
  MaskSightings seen;
  CHECK(seen.add({.is_own = true}, SIGURG, 0ns) == Finding::lets_through);
  CHECK(seen.add({.blocked = bit, .is_own = true}, SIGURG, 0ns) == Finding::blocks);
  CHECK(seen.add({.blocked = bit}, SIGURG, 0ns) == Finding::blocks);
  CHECK(seen.add({.changed = true}, SIGURG, 0ns) == Finding::blocks);
  CHECK(seen.add({.blocked = ~bit, .is_own = true}, SIGURG, 0ns) == Finding::lets_through);
}

TEST_CASE("sightings of masks: a thread that runs is seen several times") {
  MaskSightings seen;
  CHECK(seen.add({.waits = 5}, SIGURG, 1ms) == Finding::not_known);
  // It has not run since: it may be in a call still.
  for (int i = 0; i < 100; ++i) CHECK(seen.add({.waits = 5}, SIGURG, 1ms) == Finding::not_known);
  CHECK(seen.add({.waits = 5}, SIGURG, 2ms) == Finding::not_known);
  CHECK(seen.add({.waits = 5}, SIGURG, 3ms) == Finding::lets_through);
}

TEST_CASE("sightings of masks: more of a thread that waits, many if it was seen to block") {
  const auto until_known = [](MaskSightings& seen) {
    int count = 1;
    for (; count < 1000; ++count) {
      const auto number = static_cast<unsigned>(count);
      if (seen.add({.waits = number}, SIGURG, 1ms * count) == Finding::lets_through) break;
    }
    return count;
  };
  MaskSightings often, blocked;
  const int usual = until_known(often);
  CHECK_FALSE(often.is_slow());
  CHECK(usual > 3);
  CHECK(often.add({.changed = true}, SIGURG, 0ns) == Finding::blocks);
  CHECK(until_known(often) > 4 * usual);
  CHECK(often.is_slow());
  CHECK(blocked.add({.blocked = bit}, SIGURG, 0ns) == Finding::blocks);
  CHECK(until_known(blocked) < 1000);
}

TEST_CASE("masks of threads: asleep with their own mask, and with another", "[kernel_reads]") {
  for (const bool waits : {false, true}) {
    std::atomic<pid_t> id{0};
    std::atomic<bool> over{false};
    std::thread thread([&] {
      sigset_t mask;
      sigemptyset(&mask);
      sigaddset(&mask, SIGURG);
      if (waits) pthread_sigmask(SIG_BLOCK, &mask, nullptr);
      id.store(static_cast<pid_t>(syscall(SYS_gettid)));
      const timespec some{0, 5'000'000};
      while (!over.load()) {
        waits ? void(sigtimedwait(&mask, nullptr, &some)) : void(nanosleep(&some, nullptr));
      }
    });
    while (id.load() == 0) std::this_thread::yield();
    bool found = false;
    for (int i = 0; i < 5000 && !found; ++i) {
      const auto masks = masks_of(id.load());
      REQUIRE(masks);
      if (waits) {
        CHECK((!masks->is_own || masks->blocks(SIGURG)));
        found = masks->changed && !SignalMasks::has(masks->blocked, SIGURG);
      } else {
        CHECK_FALSE(masks->blocks(SIGURG));
        found = masks->is_own && masks->waits > 0;
      }
      std::this_thread::sleep_for(100us);
    }
    CHECK(found);
    over.store(true);
    thread.join();
    CHECK_FALSE(masks_of(id.load()).has_value());
  }
}
