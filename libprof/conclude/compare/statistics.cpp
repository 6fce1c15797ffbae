#include "libprof/conclude/compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>

namespace gpuprof::compare {
namespace {

// Divisions times figures.
constexpr double most_exact = 2e6;
constexpr int samples_of_divisions = 20'000;
constexpr int draws_of_shift = 2000;
constexpr std::size_t least_for_deviation = 4;

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

// With mean 0 and length 1; zeros if all values are the same.
std::vector<double> standardized(const Samples& figure) {
  std::vector<double> all = figure.a;
  all.insert(all.end(), figure.b.begin(), figure.b.end());
  const double mean =
      std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  double squares = 0;
  for (double& value : all) {
    value -= mean;
    squares += value * value;
  }
  // Less is rounding.
  const double length = std::sqrt(squares);
  const bool constant = length <= 1e-12 * std::abs(mean);
  for (double& value : all) value = constant ? 0 : value / length;
  return all;
}

// 0 if it is no more than rounding.
double deviation(std::span<const double> values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double result = std::sqrt(squares / count);
  return result > 1e-9 * std::abs(mean) ? result : 0;
}

// The next of all ways to choose the first `count` of the numbers 0, 1, ..., which are ascending at
// first. False: there are no more. What follows the first is in no order.
bool next_choice(std::vector<std::size_t>& chosen, std::size_t count) {
  const std::size_t all = chosen.size();
  for (std::size_t i = count; i-- > 0;) {
    if (chosen[i] == all - count + i) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < count; ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

// Puts a random choice of the values in front.
template <class Value>
void draw(std::vector<Value>& values, std::size_t count, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(values[i], values[i + random() % (values.size() - i)]);
  }
}

// Of usual_shifts(), in units of the deviation, which is not 0.
double largest_shift(const std::vector<double>& figure, std::size_t a, std::size_t b) {
  // The deviation of few runs is uncertain, so a change is measured by that of the runs that are in
  // neither sample; if those are too few, by that of all.
  const std::size_t others = figure.size() - a - b;
  const double of_all = deviation(figure);
  std::vector<double> values = figure;
  std::mt19937_64 random(1);
  double largest = 0;
  for (int i = 0; i < draws_of_shift; ++i) {
    draw(values, a + b, random);
    const std::span<const double> drawn(values);
    const double unit = others >= least_for_deviation ? deviation(drawn.last(others)) : of_all;
    if (unit == 0) continue;
    largest = std::max(largest, std::abs(shift(drawn.first(a), drawn.subspan(a, b))) / unit);
  }
  return largest;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> permutation_p(std::span<const Samples> figures) {
  if (figures.empty()) return {};
  std::vector<std::vector<double>> values;
  for (const Samples& figure : figures) values.push_back(standardized(figure));
  const std::size_t of_a = figures.front().a.size(), all = values.front().size();
  // With a mean of 0, the difference of the means follows from the sum of one side.
  const auto difference = [&](const std::vector<double>& figure, const auto& chosen) {
    double sum = 0;
    for (std::size_t i = 0; i < of_a; ++i) sum += figure[chosen[i]];
    return std::abs(sum);
  };
  std::vector<std::size_t> chosen(all);  // the first are a's
  std::iota(chosen.begin(), chosen.end(), 0);
  std::vector<double> observed;
  for (const auto& figure : values) {
    // The same sum in another order may differ in its last bits.
    observed.push_back(difference(figure, chosen) - 1e-9);
  }
  std::vector<std::uint64_t> as_much(values.size());
  std::uint64_t ways = 0;
  const auto count = [&] {
    double most = 0;
    for (const auto& figure : values) most = std::max(most, difference(figure, chosen));
    for (std::size_t i = 0; i < values.size(); ++i) as_much[i] += most >= observed[i];
    ++ways;
  };
  const double exact = divisions(of_a, all - of_a) * static_cast<double>(values.size());
  if (exact <= most_exact) {
    do {
      count();
    } while (next_choice(chosen, of_a));
  } else {
    count();  // the division that was observed is one of them
    std::mt19937_64 random(1);
    for (int i = 1; i < samples_of_divisions; ++i) {
      draw(chosen, of_a, random);
      count();
    }
  }
  std::vector<double> p;
  for (const std::uint64_t each : as_much) {
    p.push_back(static_cast<double>(each) / static_cast<double>(ways));
  }
  return p;
}

double least_p(std::size_t a, std::size_t b) { return 2 / divisions(a, b); }

std::vector<double> usual_shifts(std::span<const std::vector<double>> figures, std::size_t a,
                                 std::size_t b) {
  if (figures.empty()) return {};
  const std::size_t runs = figures.front().size();
  a = std::min(a, runs / 2);
  b = std::min(b, runs / 2);
  std::vector<double> deviations, largest;
  for (const auto& figure : figures) {
    deviations.push_back(deviation(figure));
    largest.push_back(deviations.back() > 0 ? largest_shift(figure, a, b) : 0);
  }
  std::vector<double> sorted = largest;
  std::ranges::sort(sorted);
  const double of_most = sorted[sorted.size() - 1 - sorted.size() / 5];
  for (std::size_t i = 0; i < figures.size(); ++i) {
    deviations[i] *= std::max(largest[i], of_most);
  }
  return deviations;
}

double weighted_median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double all = 0;
  for (const auto& each : values) all += each.second;
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= all / 2) return value;
  }
  return values.back().first;
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

}  // namespace gpuprof::compare
