#include "libprof/compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>

namespace gpuprof::compare {
namespace {

constexpr double most_divisions = 2e6;
constexpr int samples_of_divisions = 100'000;

double divisions(std::size_t a, std::size_t b) {
  double ways = 1;
  for (std::size_t i = 1; i <= a; ++i) ways *= static_cast<double>(b + i) / static_cast<double>(i);
  return ways;
}

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all;
  for (const double x : a) {
    for (const double y : b) all.push_back(y - x);
  }
  std::ranges::sort(all);
  return all;
}

// How many ways to choose `a` of a + b ranks have each value of Mann and Whitney's U.
std::vector<double> ways_by_u(std::size_t a, std::size_t b) {
  // ways[i] after j of b: those of i of a.
  std::vector<std::vector<double>> ways(a + 1, std::vector<double>(a * b + 1));
  for (std::size_t i = 0; i <= a; ++i) ways[i][0] = 1;
  for (std::size_t j = 1; j <= b; ++j) {
    for (std::size_t i = 1; i <= a; ++i) {
      // The largest value is one of b's, or one of a's, which is above all j of b's.
      std::vector<double> sum = ways[i];
      for (std::size_t u = j; u < sum.size(); ++u) sum[u] += ways[i - 1][u - j];
      ways[i] = std::move(sum);
    }
  }
  return ways[a];
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double permutation_p(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const double total = std::accumulate(all.begin(), all.end(), 0.0);
  const auto of_a = static_cast<double>(a.size()), of_b = static_cast<double>(b.size());
  const auto difference = [&](double sum_of_a) {
    return std::abs((total - sum_of_a) / of_b - sum_of_a / of_a);
  };
  // The same sum in another order may differ in its last bits.
  const double observed =
      difference(std::accumulate(a.begin(), a.end(), 0.0)) - 1e-12 * std::max(std::abs(total), 1.0);
  std::uint64_t as_much = 0, ways = 0;
  const auto count = [&](double sum_of_a) {
    ++ways;
    as_much += difference(sum_of_a) >= observed;
  };
  if (divisions(a.size(), b.size()) <= most_divisions) {
    std::vector<bool> in_a(all.size());
    std::fill_n(in_a.begin(), a.size(), true);
    do {
      double sum = 0;
      for (std::size_t i = 0; i < all.size(); ++i) sum += in_a[i] ? all[i] : 0;
      count(sum);
    } while (std::prev_permutation(in_a.begin(), in_a.end()));
  } else {
    std::mt19937_64 random(1);
    for (int i = 0; i < samples_of_divisions; ++i) {
      for (std::size_t j = 0; j < a.size(); ++j) {  // the first of a shuffled row are a's
        std::swap(all[j], all[j + random() % (all.size() - j)]);
      }
      count(std::accumulate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0));
    }
  }
  return static_cast<double>(as_much) / static_cast<double>(ways);
}

double shift(std::span<const double> a, std::span<const double> b) {
  return median(differences(a, b));
}

std::optional<std::pair<double, double>> shift_limits(std::span<const double> a,
                                                      std::span<const double> b) {
  constexpr double each_side = 0.025;
  const std::vector<double> ways = ways_by_u(a.size(), b.size());
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  std::size_t outside = 0;  // of the differences, on each side
  for (double sum = 0; outside < ways.size(); ++outside) {
    sum += ways[outside];
    if (sum / all > each_side) break;
  }
  if (outside == 0) return std::nullopt;
  const std::vector<double> sorted = differences(a, b);
  return std::pair{sorted[outside - 1], sorted[sorted.size() - outside]};
}

std::vector<double> adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t x, std::size_t y) { return p[x] > p[y]; });
  std::vector<double> result(p.size());
  double least = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto rank = static_cast<double>(order.size() - i);
    least = std::min(least, p[order[i]] * static_cast<double>(order.size()) / rank);
    result[order[i]] = least;
  }
  return result;
}

}  // namespace gpuprof::compare
