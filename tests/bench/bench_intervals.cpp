// How fast intervals are swept: libprof/compute/intervals on one thread, compared with the
// simplest loop that gives the same answer, and with reading the two columns alone, the lower
// bound.
//
//   bench_intervals COUNT ROUNDS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/intervals/innermost.hpp"
#include "libprof/compute/intervals/merged.hpp"
#include "tests/support/interval_source.hpp"

using namespace gpuprof::intervals;
using gpuprof::test::InMemory;

namespace {

// What a launch-bound run has: work of 1 to 5 us, and from one begin to the next 1 to 5 us. Half of
// it runs into what comes next.
Intervals make(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Intervals result;
  result.begin.reserve(count);
  result.end.reserve(count);
  std::int64_t time = 1'700'000'000'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = random();
    time += 1000 + static_cast<std::int64_t>(bits % 4096);
    result.add(time, time + 1000 + static_cast<std::int64_t>(bits >> 32) % 4096);
  }
  return result;
}

// What each way found, so that none is left out by the compiler and all can be compared.
using Work = std::function<std::int64_t()>;

std::int64_t length_of_union(const Intervals& all) {
  Busy busy;
  for (std::size_t i = 0; i < all.size(); ++i) busy.add(all.begin[i], all.end[i]);
  return busy.ns();
}

// The length of the union of both, which are merged.
std::int64_t length_of_both(const Intervals& one, const Intervals& other) {
  InMemory first(one.columns(), chunk_size), second(other.columns(), chunk_size);
  Merged merged({&first, &second});
  Busy busy;
  for (Columns chunk = merged.next(); !chunk.empty(); chunk = merged.next()) {
    for (std::size_t i = 0; i < chunk.size(); ++i) busy.add(chunk.begin[i], chunk.end[i]);
  }
  return busy.ns();
}

std::int64_t read_only(const Intervals& all) {
  return std::accumulate(all.begin.begin(), all.begin.end(), std::int64_t{0}) ^
         std::accumulate(all.end.begin(), all.end.end(), std::int64_t{0});
}

std::int64_t plain_union(const Intervals& all) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!result.empty() && all.begin[i] <= result.back().second) {
      result.back().second = std::max(result.back().second, all.end[i]);
    } else {
      result.emplace_back(all.begin[i], all.end[i]);
    }
  }
  std::int64_t sum = 0;
  for (const auto& [begin, end] : result) sum += end - begin;
  return sum;
}

double seconds(const Work& work, std::int64_t& answer) {
  const auto begin = std::chrono::steady_clock::now();
  answer = work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Way {
  const char* name;
  std::size_t intervals;
  Work work;
  int same_as;  // index of the way whose answer it must have; -1: none
  std::vector<double> times{};
  std::int64_t answer = 0;
};

int run(std::size_t count, int rounds) {
  const Intervals all = make(count, 1);
  const Intervals others = make(count, 2);
  Intervals ranges;  // 200 ranges of the outer kind in each million, 20 inner ones in each
  for (std::size_t i = 0; i + 5000 <= count; i += 5000) {
    ranges.add(all.begin[i], all.begin[i + 4999]);
    for (std::size_t j = i; j < i + 4980; j += 250) ranges.add(all.begin[j], all.begin[j + 200]);
  }

  std::vector<Way> ways;
  ways.push_back({"read both columns", count, [&] { return read_only(all); }, -1});
  ways.push_back({"length of the union", count, [&] { return length_of_union(all); }, -1});
  ways.push_back({"union, plainly", count, [&] { return plain_union(all); }, 1});
  ways.push_back(
      {"two sources merged", 2 * count, [&] { return length_of_both(all, others); }, -1});
  ways.push_back({"innermost range", count,
                  [&] {
                    Innermost sweep(ranges.columns());
                    std::int64_t sum = 0;
                    for (const std::int64_t time : all.begin) {
                      sum += static_cast<std::int64_t>(sweep.at(time));
                    }
                    return sum;
                  },
                  -1});

  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) way.times.push_back(seconds(way.work, way.answer));
  }
  std::printf("%zu intervals, one thread, %d rounds in turn: ns per interval, median (min..max)\n",
              count, rounds);
  for (Way& way : ways) {
    std::ranges::sort(way.times);
    const double each = 1e9 / static_cast<double>(way.intervals);
    const double median = way.times[way.times.size() / 2];
    std::printf("%-28s %7.2f (%.2f..%.2f) %8.0f million/s\n", way.name, median * each,
                way.times.front() * each, way.times.back() * each,
                static_cast<double>(way.intervals) / median / 1e6);
    if (way.same_as >= 0 && way.answer != ways[static_cast<std::size_t>(way.same_as)].answer) {
      std::fprintf(stderr, "bench_intervals: %s has another answer\n", way.name);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count == 0 || rounds <= 0) {
    std::fprintf(stderr, "usage: bench_intervals COUNT ROUNDS\n");
    return 2;
  }
  return run(count, rounds);
}
