// Sessions of PM sampling that several threads share, on the stand-ins.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/counters/consumer.hpp"
#include "libprof/cupti/refused.hpp"
#include "tests/fake_cupti/profiler_session.hpp"

namespace {

using gpuprof::Error;
using gpuprof::counters::Consumer;
using gpuprof::counters::ConsumerSettings;
using gpuprof::counters::TakenSamples;

constexpr std::uint64_t interval = 1'000'000;

std::unique_ptr<Consumer> opened(int device = 0) {
  CUDA(fake_init)();  // so that libcuda.so.1 is there by its name
  return gpuprof::counters::open_consumer(device, {GPUPROF_BUILD_DIR "/tests/fake/libcupti.so.13"});
}

ConsumerSettings settings(std::vector<std::string> metrics) {
  ConsumerSettings result;
  result.metrics = std::move(metrics);
  result.interval = interval;
  result.buffer_bytes = 64 << 20;
  return result;
}

std::size_t take_some(Consumer& consumer, std::size_t wanted) {
  std::size_t count = 0;
  std::uint64_t last = 0;
  while (count < wanted) {
    consumer.wait(std::chrono::milliseconds(20));
    const TakenSamples taken = consumer.take(1000);
    for (std::size_t i = 0; i < taken.starts.size(); ++i) {
      if (taken.starts[i] < last || taken.stops[i] - taken.starts[i] != interval) return 0;
      last = taken.stops[i];
    }
    count += taken.starts.size();
    if (taken.starts.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}

}  // namespace

TEST_CASE("shared PM sampling: consumers in threads of their own", "[tsan]") {
  const auto steady = opened();
  steady->configure(settings({"dram__bytes_read.sum"}));
  steady->start(10'000);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  const std::vector<std::string> more{"dram__bytes_write.sum", "sm__cycles_active.avg",
                                      "dram__bytes_read.sum"};
  for (std::size_t i = 0; i < more.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        for (int round = 0; round < 3; ++round) {
          const auto consumer = opened();
          consumer->configure(settings({more[i]}));
          consumer->start(i % 2 == 0 ? 1000 : 0);
          if (take_some(*consumer, 5) < 5) ++wrong;
          if (round != 1) consumer->stop();
        }
      } catch (const std::exception&) {
        ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(take_some(*steady, 5) >= 5);
  CHECK(steady->state().consumers == 1);
  steady->stop();
}

TEST_CASE("shared PM sampling: values of all metrics of a consumer, and of no others") {
  const auto one = opened();
  const auto other = opened();
  one->configure(settings({"dram__bytes_read.sum", "gpu__time_duration.sum"}));
  other->configure(settings({"dram__bytes_write.sum"}));
  one->start(1000);
  other->start(1000);
  std::vector<double> values;
  while (values.empty()) values = one->take(10).values;
  CHECK(values.size() % 2 == 0);
  const TakenSamples taken = [&] {
    while (true) {
      TakenSamples found = other->take(10);
      if (!found.starts.empty()) return found;
    }
  }();
  CHECK(taken.evaluated);
  CHECK(taken.values.size() == taken.starts.size());
}

TEST_CASE("shared PM sampling: images that were taken outlive the session") {
  auto consumer = opened();
  consumer->configure(settings({"dram__bytes_read.sum"}));
  consumer->start(0);
  TakenSamples taken;
  while (taken.starts.empty()) taken = consumer->take(100);
  consumer.reset();
  REQUIRE(taken.windows.size() == 1);
  CHECK(taken.windows[0].places.size() == taken.starts.size());
  CHECK_FALSE(taken.windows[0].image->empty());
}

TEST_CASE("shared PM sampling: what is refused") {
  CHECK_THROWS_AS(opened(7), Error);
  const auto consumer = opened();
  CHECK_THROWS_AS(consumer->start(0), gpuprof::cupti::Refused);
  CHECK_THROWS_AS(consumer->stop(), gpuprof::cupti::Refused);
  CHECK_THROWS_AS(consumer->take(1), gpuprof::cupti::Refused);
  CHECK_THROWS_AS(consumer->configure(settings({"nonsense.sum"})), Error);
  CHECK_THROWS_AS(consumer->configure(settings({})), Error);
}
