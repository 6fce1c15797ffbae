// When a mean is known well enough.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "libprof/metrics/means.hpp"

using namespace gpuprof;
using metrics::Means;

namespace {

// A launch of "kernel" with this grid and these values.
metrics::MeasuredValues launch(std::uint32_t blocks, std::vector<double> values) {
  metrics::MeasuredValues result{};
  result.group = 1;
  result.names = {"other", "kernel"};
  wire::MeasuredRange range{};
  range.name = 2;
  range.grid[0] = blocks;
  result.ranges = {range};
  result.metrics.resize(values.size());
  result.values = std::move(values);
  return result;
}

// Number of launches with these values in turn after which the mean is known; 0: not within 10,000.
int told_after(std::vector<double> values) {
  Means means;
  for (int n = 1; n <= 10'000; ++n) {
    const auto tight =
        means.add(0, launch(4, {values[static_cast<std::size_t>(n) % values.size()]}));
    if (tight.empty()) continue;
    CHECK(tight.size() == 1);
    CHECK(tight[0].name == "kernel");
    CHECK(tight[0].size == std::array<std::uint32_t, 6>{4, 0, 0, 0, 0, 0});
    return n;
  }
  return 0;
}

}  // namespace

TEST_CASE("the less values vary, the sooner their mean is known") {
  CHECK(told_after({5}) == 8);
  CHECK(told_after({0}) == 8);
  CHECK(told_after({-5, -5.1}) == 8);
  // A standard deviation of 10 % of the mean: about 100 launches.
  const int tenth = told_after({0.9, 1.1});
  CHECK(tenth > 90);
  CHECK(tenth < 110);
  CHECK(told_after({1, -1}) == 0);
}

TEST_CASE("each shape, group, context and process is known by itself, and reported once") {
  Means means;
  int told = 0;
  for (int n = 1; n <= 100; ++n) {
    for (const std::uint32_t blocks : {1u, 2u}) {
      for (const std::uint32_t process : {0u, 1u}) {
        for (const std::uint32_t group : {1u, 2u}) {
          auto values = launch(blocks, {7});
          values.group = group;
          told += static_cast<int>(means.add(process, values).size());
        }
      }
    }
    CHECK(told == (n < 8 ? 0 : 8));
  }
}

TEST_CASE("all metrics of the group must be known, and launches without numbers do not count") {
  Means means;
  for (int n = 1; n <= 50; ++n) {
    CHECK(means.add(0, launch(1, {7, n % 2 ? 1.0 : 3.0})).empty());
    CHECK(means.add(0, launch(2, {7, std::nan("")})).empty());
  }
  auto nameless = launch(3, {7});
  nameless.ranges[0].name = 0;
  for (int n = 1; n <= 50; ++n) CHECK(means.add(0, nameless).empty());
}
