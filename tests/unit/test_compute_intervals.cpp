#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>

#include "libprof/base/error.hpp"
#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/intervals/depth.hpp"
#include "libprof/compute/intervals/innermost.hpp"
#include "libprof/compute/intervals/sets.hpp"

using namespace gpuprof::intervals;

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

// The intervals in which f(t) holds.
template <typename F>
Pairs where(F f) {
  Pairs result;
  for (std::int64_t t = 0; t < times; ++t) {
    if (!f(static_cast<std::size_t>(t))) continue;
    if (result.empty() || result.back().second != t) result.emplace_back(t, t);
    ++result.back().second;
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
    sort(result);
    return result;
  }

  std::size_t chunk() { return static_cast<std::size_t>(1 + number(8)); }

 private:
  std::mt19937 random_;
};

Intervals union_of(const Intervals& all, std::size_t chunk) {
  InMemory source(all.columns(), chunk);
  Union result(source);
  return collect(result);
}

constexpr int rounds = 1000;

}  // namespace

TEST_CASE("intervals: sorting is by begin and keeps pairs together") {
  Intervals some = intervals({{5, 6}, {1, 9}, {3, 4}, {1, 2}});
  sort(some);
  CHECK(pairs(some) == Pairs{{1, 2}, {1, 9}, {3, 4}, {5, 6}});
  Intervals in_order = intervals({{1, 9}, {1, 2}, {3, 4}});
  sort(in_order);
  CHECK(pairs(in_order) == Pairs{{1, 9}, {1, 2}, {3, 4}});
}

TEST_CASE("intervals: union, and its length, against brute force") {
  Inputs inputs(1);
  for (int round = 0; round < rounds; ++round) {
    const Intervals all = inputs.sorted();
    const Count open = count(all);
    CAPTURE(round, pairs(all));
    CHECK(pairs(union_of(all, inputs.chunk())) ==
          where([&](std::size_t t) { return open[t] > 0; }));

    InMemory source(all.columns(), inputs.chunk());
    const auto length = times - std::ranges::count(open, 0);
    CHECK(busy(source) == length);
    Busy one_by_one;
    for (std::size_t i = 0; i < all.size(); ++i) one_by_one.add(all.begin[i], all.end[i]);
    CHECK(one_by_one.ns() == length);
    CHECK(one_by_one.ever() == (length > 0));
    if (length > 0) {
      CHECK(one_by_one.first() == where([&](std::size_t t) { return open[t] > 0; }).front().first);
      CHECK(one_by_one.until() == where([&](std::size_t t) { return open[t] > 0; }).back().second);
    }
  }
}

TEST_CASE("intervals: a union that is built can be built again") {
  UnionBuilder builder;
  const Intervals some = intervals({{1, 3}, {2, 5}, {7, 8}});
  CHECK(builder.add(some.columns()).size() == 1);
  CHECK(builder.finish().begin[0] == 7);
  CHECK(builder.finish().empty());
  CHECK(builder.add(some.columns()).end[0] == 5);
}

TEST_CASE("intervals: intersection, difference and gaps against brute force") {
  Inputs inputs(2);
  for (int round = 0; round < rounds; ++round) {
    const Intervals a = inputs.sorted(), b = inputs.sorted();
    const Count in_a = count(a), in_b = count(b);
    CAPTURE(round, pairs(a), pairs(b));
    const Intervals union_a = union_of(a, 3), union_b = union_of(b, 3);
    const auto sources = [&] {
      return std::pair{InMemory(union_a.columns(), inputs.chunk()),
                       InMemory(union_b.columns(), inputs.chunk())};
    };
    {
      auto [one, other] = sources();
      Intersection both(one, other);
      CHECK(pairs(collect(both)) == where([&](std::size_t t) { return in_a[t] && in_b[t]; }));
    }
    {
      auto [one, other] = sources();
      Difference only(one, other);
      CHECK(pairs(collect(only)) == where([&](std::size_t t) { return in_a[t] && !in_b[t]; }));
    }
    {
      auto [one, other] = sources();
      const std::int64_t from = inputs.number(times), to = inputs.number(times);
      Gaps gaps(one, from, to);
      CHECK(pairs(collect(gaps)) == where([&](std::size_t t) {
              const auto time = static_cast<std::int64_t>(t);
              return !in_a[t] && time >= from && time < to;
            }));
      Gaps between(other);
      Pairs expected;
      for (std::size_t i = 1; i < union_b.size(); ++i) {
        expected.emplace_back(union_b.end[i - 1], union_b.begin[i]);
      }
      CHECK(pairs(collect(between)) == expected);
    }
  }
}

TEST_CASE("intervals: several sources as one") {
  Inputs inputs(3);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Intervals> parts(static_cast<std::size_t>(inputs.number(6)));
    std::vector<InMemory> sources;
    Intervals all;
    for (Intervals& part : parts) {
      part = inputs.sorted();
      all.add(part.columns());
      sources.emplace_back(part.columns(), inputs.chunk());
    }
    std::vector<IntervalSource*> pointers;
    for (InMemory& source : sources) pointers.push_back(&source);
    Merged merged(pointers);
    const Intervals result = collect(merged);
    CHECK(std::ranges::is_sorted(result.begin));
    Pairs got = pairs(result), expected = pairs(all);
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
  const auto same = [](IntervalSource& source, const Intervals& expected) {
    CHECK(pairs(collect(source)) == pairs(expected));
  };
  InMemory one(evens.columns()), other(odds.columns());
  Merged merged({&one, &other});
  CHECK(collect(merged).size() == 6 * chunk_size);
  InMemory minuend(evens.columns()), subtrahend(odds.columns());
  Difference difference(minuend, subtrahend);
  same(difference, evens);
  InMemory twice(evens.columns()), again(evens.columns(), 1000);
  Intersection intersection(twice, again);
  same(intersection, evens);
  InMemory busy_ones(evens.columns());
  Gaps gaps(busy_ones, 0, evens.end.back());
  CHECK(collect(gaps).size() == evens.size() - 1);
}

TEST_CASE("intervals: depth against brute force") {
  Inputs inputs(4);
  for (int round = 0; round < rounds; ++round) {
    const Intervals all = inputs.sorted();
    const Count open = count(all);
    CAPTURE(round, pairs(all));
    Pairs expected;
    std::map<std::int64_t, std::int64_t> lasted;
    for (std::size_t t = 0; t < times; ++t) {
      const std::int64_t before = t > 0 ? open[t - 1] : 0;
      if (open[t] != before) expected.emplace_back(t, open[t]);
      if (!expected.empty()) ++lasted[open[t]];
    }
    if (!expected.empty()) lasted[0] -= times - expected.back().first;
    InMemory source(all.columns(), inputs.chunk());
    Depth depth(source);
    Pairs got;
    for (Steps steps = depth.next(); !steps.empty(); steps = depth.next()) {
      for (std::size_t i = 0; i < steps.size(); ++i) got.emplace_back(steps.time[i], steps.open[i]);
    }
    CHECK(got == expected);

    InMemory once_more(all.columns(), inputs.chunk());
    Depth counted(once_more);
    const auto sums = time_at_depth(counted);
    const auto depths = expected.empty() ? 0 : 1 + *std::ranges::max_element(open);
    CHECK(sums.size() == static_cast<std::size_t>(depths));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      CHECK(sums[i] == lasted[static_cast<std::int64_t>(i)]);
    }
  }
}

TEST_CASE("intervals: busy time per window and within windows against brute force") {
  Inputs inputs(5);
  for (int round = 0; round < rounds; ++round) {
    const Intervals all = inputs.sorted();
    const Count open = count(all);
    const Intervals disjoint = union_of(all, inputs.chunk());
    CAPTURE(round, pairs(disjoint));
    const auto busy_from = [&](std::int64_t begin, std::int64_t end) {
      std::int64_t ns = 0;
      for (std::int64_t t = std::max<std::int64_t>(begin, 0); t < std::min(end, times); ++t) {
        ns += open[static_cast<std::size_t>(t)] > 0;
      }
      return ns;
    };
    {
      const std::int64_t first = inputs.number(times) - 20, width = 1 + inputs.number(50);
      const auto windows = static_cast<std::size_t>(inputs.number(20));
      InMemory source(disjoint.columns(), inputs.chunk());
      const auto result = busy_per_window(source, first, width, windows);
      REQUIRE(result.size() == windows);
      for (std::size_t i = 0; i < windows; ++i) {
        const std::int64_t begin = first + static_cast<std::int64_t>(i) * width;
        CHECK(result[i] == busy_from(begin, begin + width));
      }
    }
    Intervals windows;
    for (std::int64_t i = inputs.number(20); i > 0; --i) {
      windows.add(inputs.number(times), inputs.number(times));
    }
    InMemory source(disjoint.columns(), inputs.chunk());
    const auto result = busy_within(source, windows.columns());
    REQUIRE(result.size() == windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      CHECK(result[i] == busy_from(windows.begin[i], windows.end[i]));
    }
  }
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
  const Intervals all =
      intervals({{earliest, 5}, {earliest, earliest}, {3, latest}, {7, earliest}});
  CHECK(pairs(union_of(all, 1)) == Pairs{{earliest, latest}});
  InMemory source(all.columns());
  CHECK(busy(source) == latest);  // the largest there is
  InMemory for_depth(all.columns());
  Depth depth(for_depth);
  CHECK(time_at_depth(depth) == std::vector<std::int64_t>{0, latest, 2});

  const Intervals whole = intervals({{earliest, latest}});
  InMemory windows_of(whole.columns());
  CHECK(busy_per_window(windows_of, latest - 15, 10, 3) == std::vector<std::int64_t>{10, 5, 0});
  InMemory within(whole.columns());
  const Intervals windows = intervals({{earliest, latest}, {-1, 4}, {latest, earliest}});
  CHECK(busy_within(within, windows.columns()) == std::vector<std::int64_t>{latest, 5, 0});
  InMemory busy_ones(whole.columns());
  Gaps gaps(busy_ones, earliest, latest);
  CHECK(collect(gaps).size() == 0);
}

TEST_CASE("intervals: what is out of order is refused, within a chunk and over chunks") {
  const Intervals wrong = intervals({{1, 2}, {8, 9}, {4, 5}});
  const Intervals overlapping = intervals({{1, 5}, {4, 6}});
  for (const std::size_t chunk : {1, 2, 3}) {
    CAPTURE(chunk);
    CHECK_THROWS_AS(union_of(wrong, chunk), gpuprof::Error);
    InMemory source(wrong.columns(), chunk);
    CHECK_THROWS_AS(busy(source), gpuprof::Error);
    InMemory for_depth(wrong.columns(), chunk);
    Depth depth(for_depth);
    CHECK_THROWS_AS(time_at_depth(depth), gpuprof::Error);
    InMemory one(wrong.columns(), chunk);
    CHECK_THROWS_AS(
        [&] {
          Merged merged({&one});
          collect(merged);
        }(),
        gpuprof::Error);
    for (const Intervals* all : {&wrong, &overlapping}) {
      InMemory not_disjoint(all->columns(), chunk);
      Gaps gaps(not_disjoint);
      CHECK_THROWS_AS(collect(gaps), gpuprof::Error);
    }
  }
  Innermost sweep(wrong.columns());
  CHECK_THROWS_AS(sweep.at(10), gpuprof::Error);
  Innermost backwards(overlapping.columns());
  backwards.at(3);
  CHECK_THROWS_AS(backwards.at(2), gpuprof::Error);
}
