// Steps are found by what the sequence of launches repeats.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "libprof/compute/launch_period.hpp"

using namespace gpuprof;

namespace {

using Names = std::vector<std::int32_t>;

// Kernels of these names in launch order, 100 ns apart.
std::optional<compute::LaunchPeriod::Found> find(const Names& names) {
  compute::LaunchPeriod period;
  std::int64_t number = 1;
  for (const std::int32_t name : names) {
    period.add({.begin = 100 * number,
                .end = 100 * number + 50,
                .correlation = (std::int64_t{7} << 32) + number,
                .process = 42,
                .name = name,
                .kind = 1});
    ++number;
  }
  return period.find();
}

void add(Names& all, const Names& more) { all.insert(all.end(), more.begin(), more.end()); }

// `layers` times the same, and what comes once.
Names step_of(int layers) {
  Names step{1, 2};
  for (int i = 0; i < layers; ++i) add(step, {10, 11, 12, 11, 13});
  add(step, {3, 4});
  return step;
}

Names steps_of(int count, int layers) {
  Names all;
  for (int i = 0; i < count; ++i) add(all, step_of(layers));
  return all;
}

}  // namespace

TEST_CASE("launch period: a loop of equal steps") {
  const auto found = find(steps_of(20, 3));
  REQUIRE(found);
  CHECK(found->process == 42);
  CHECK(found->length == 19);
  CHECK(found->alike == 1);
  REQUIRE(found->starts.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(found->starts[i].begin == 100 + 1900 * static_cast<std::int64_t>(i));
    CHECK(found->starts[i].goes_on == (i < 19));
  }
}

TEST_CASE("launch period: layers are no steps, however many a step has") {
  const auto found = find(steps_of(12, 50));
  REQUIRE(found);
  CHECK(found->length == 254);
  CHECK(found->starts.size() == 12);
}

TEST_CASE("launch period: setting up, and steps that do a little more") {
  std::mt19937 random(1);
  Names all;
  for (int i = 0; i < 60; ++i) all.push_back(static_cast<std::int32_t>(100 + random() % 40));
  const auto first = static_cast<std::int64_t>(all.size());
  for (int i = 0; i < 30; ++i) {
    add(all, step_of(4));
    if (i % 10 == 9) add(all, {50, 51});
  }
  const auto found = find(all);
  REQUIRE(found);
  CHECK(found->length == 24);
  CHECK(found->alike > 0.9);
  CHECK(found->alike < 1);
  REQUIRE(found->starts.size() == 30);
  CHECK(found->starts.front().begin == 100 + 100 * first);
}

TEST_CASE("launch period: what does not repeat has no steps") {
  std::mt19937 random(2);
  Names all;
  for (int i = 0; i < 2000; ++i) all.push_back(static_cast<std::int32_t>(1 + random() % 20));
  CHECK_FALSE(find(all));
  CHECK_FALSE(find({}));
  CHECK_FALSE(find(Names(100, 1)));     // one kernel in a loop
  CHECK_FALSE(find(steps_of(4, 3)));    // too few
  Names mostly_other = steps_of(6, 3);  // less than half of the work
  for (int i = 0; i < 200; ++i) mostly_other.push_back(static_cast<std::int32_t>(1000 + i));
  CHECK_FALSE(find(mostly_other));
}

TEST_CASE("launch period: of several processes the one with most work counts") {
  compute::LaunchPeriod period;
  const Names names = steps_of(10, 2);
  for (std::int64_t i = 0; i < std::ssize(names); ++i) {
    for (const std::int64_t process : {1, 2}) {
      if (process == 2 && i % 3 == 0) continue;
      period.add({.begin = 10 + i,
                  .end = 11 + i,
                  .correlation = (process << 32) + i + 1,
                  .process = process,
                  .name = names[static_cast<std::size_t>(i)],
                  .kind = 1});
    }
  }
  const auto found = period.find();
  REQUIRE(found);
  CHECK(found->process == 1);
}
