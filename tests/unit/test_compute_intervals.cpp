#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "libprof/base/error.hpp"
#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/intervals/innermost.hpp"
#include "libprof/compute/intervals/merged.hpp"
#include "tests/support/interval_source.hpp"

using namespace gpuprof::intervals;
using gpuprof::test::InMemory;

namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();

Intervals intervals(const Pairs& pairs) {
  Intervals result;
  for (const auto& [begin, end] : pairs) result.add(begin, end);
  return result;
}

Pairs pairs(const Intervals& all) {
  Pairs result;
  for (std::size_t i = 0; i < all.size(); ++i) result.emplace_back(all.begin[i], all.end[i]);
  return result;
}

Pairs collect(IntervalSource& source) {
  Pairs all;
  for (Columns chunk = source.next(); !chunk.empty(); chunk = source.next()) {
    for (std::size_t i = 0; i < chunk.size(); ++i) all.emplace_back(chunk.begin[i], chunk.end[i]);
  }
  return all;
}

Busy busy(const Intervals& all) {
  Busy result;
  for (std::size_t i = 0; i < all.size(); ++i) result.add(all.begin[i], all.end[i]);
  return result;
}

// Brute force: which of the times 0 to `times` - 1 are in an interval, and how many times each.
constexpr std::int64_t times = 200;
using Count = std::vector<std::int64_t>;

Count count(const Intervals& all) {
  Count result(times, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::int64_t t = all.begin[i]; t < all.end[i]; ++t) ++result[static_cast<std::size_t>(t)];
  }
  return result;
}

// Inputs of all densities, some empty; ends before begins, empty and alike ones among them.
class Inputs {
 public:
  explicit Inputs(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

  Intervals sorted() {
    Intervals result;
    const std::int64_t longest = 1 + number(number(4) ? 10 : 60);
    for (std::int64_t left = number(30); left > 0; --left) {
      const std::int64_t begin = number(times - longest);
      result.add(begin, begin + number(longest + 1) - (number(8) ? 0 : 3));
    }
    Pairs sorted = pairs(result);
    std::ranges::sort(sorted);
    return intervals(sorted);
  }

  std::size_t chunk() { return static_cast<std::size_t>(1 + number(8)); }

 private:
  std::mt19937 random_;
};

constexpr int rounds = 1000;

}  // namespace

TEST_CASE("intervals: the length of the union against brute force") {
  Inputs inputs(1);
  for (int round = 0; round < rounds; ++round) {
    const Intervals all = inputs.sorted();
    const Count open = count(all);
    CAPTURE(round, pairs(all));
    const Busy result = busy(all);
    const auto length = times - std::ranges::count(open, 0);
    CHECK(result.ns() == length);
    if (length == 0) continue;
    const auto is_open = [](std::int64_t number) { return number > 0; };
    CHECK(result.first() == std::ranges::find_if(open, is_open) - open.begin());
    CHECK(result.until() == open.rend() - std::find_if(open.rbegin(), open.rend(), is_open));
  }
}

TEST_CASE("intervals: several sources as one") {
  Inputs inputs(3);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Intervals> parts(static_cast<std::size_t>(inputs.number(6)));
    std::vector<InMemory> sources;
    Pairs expected;
    for (Intervals& part : parts) {
      part = inputs.sorted();
      const Pairs more = pairs(part);
      expected.insert(expected.end(), more.begin(), more.end());
      sources.emplace_back(part.columns(), inputs.chunk());
    }
    std::vector<IntervalSource*> pointers;
    for (InMemory& source : sources) pointers.push_back(&source);
    Merged merged(pointers);
    Pairs got = collect(merged);
    CHECK(std::ranges::is_sorted(got, {}, &Pairs::value_type::first));
    std::ranges::sort(got);
    std::ranges::sort(expected);
    CHECK(got == expected);
  }
}

TEST_CASE("intervals: more than a chunk comes out whole") {
  Intervals evens, odds;
  for (std::int64_t i = 0; i < 3 * std::int64_t{chunk_size}; ++i) {
    evens.add(4 * i, 4 * i + 1);
    odds.add(4 * i + 2, 4 * i + 3);
  }
  InMemory one(evens.columns(), chunk_size), other(odds.columns(), chunk_size);
  Merged merged({&one, &other});
  CHECK(collect(merged).size() == 6 * chunk_size);
}

TEST_CASE("intervals: the innermost open range against brute force") {
  Inputs inputs(6);
  for (int round = 0; round < rounds; ++round) {
    Intervals ranges = inputs.sorted();
    if (ranges.size() > 0 && inputs.number(2)) ranges.end[ranges.size() / 2] = latest;
    CAPTURE(round, pairs(ranges));
    Innermost sweep(ranges.columns());
    for (std::int64_t time = 0; time < times; time += inputs.number(4)) {
      std::size_t expected = Innermost::none;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges.begin[i] <= time && time < ranges.end[i]) expected = i;
      }
      CHECK(sweep.at(time) == expected);
    }
  }
}

TEST_CASE("intervals: of nested ranges that begin together the inner one is innermost") {
  const Intervals ranges = intervals({{0, 100}, {10, 50}, {10, 20}, {30, 40}});
  Innermost sweep(ranges.columns());
  CHECK(sweep.at(5) == 0);
  CHECK(sweep.at(10) == 2);
  CHECK(sweep.at(20) == 1);
  CHECK(sweep.at(30) == 3);
  CHECK(sweep.at(45) == 1);
  CHECK(sweep.at(99) == 0);
  CHECK(sweep.at(100) == Innermost::none);
}

TEST_CASE("intervals: any times are taken, and lengths do not overflow") {
  CHECK(busy(intervals({{earliest, 5}, {earliest, earliest}, {3, latest}, {7, earliest}})).ns() ==
        latest);  // the largest there is
}

TEST_CASE("intervals: what is out of order is refused, within a chunk and over chunks") {
  const Intervals wrong = intervals({{1, 2}, {8, 9}, {4, 5}});
  CHECK_THROWS_AS(busy(wrong), gpuprof::Error);
  for (const std::size_t chunk : {1, 2, 3}) {
    CAPTURE(chunk);
    InMemory one(wrong.columns(), chunk);
    CHECK_THROWS_AS(
        [&] {
          Merged merged({&one});
          collect(merged);
        }(),
        gpuprof::Error);
  }
  Innermost sweep(wrong.columns());
  CHECK_THROWS_AS(sweep.at(10), gpuprof::Error);
  const Intervals overlapping = intervals({{1, 5}, {4, 6}});
  Innermost backwards(overlapping.columns());
  backwards.at(3);
  CHECK_THROWS_AS(backwards.at(2), gpuprof::Error);
}
