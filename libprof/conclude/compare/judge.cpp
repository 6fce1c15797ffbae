#include "libprof/conclude/compare/judge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libprof/conclude/compare/statistics.hpp"

namespace gpuprof::compare {
namespace {

// Of p, in either direction. Four runs and four never are below it; theirs is enough if all of one
// side are above all of the other.
constexpr double significant = 0.02;

Verdict direction(double shift) { return shift > 0 ? Verdict::slower : Verdict::faster; }

Samples samples_of(const Comparison& sides, const FigureOf& of) {
  return {each(sides.a, of), each(sides.b, of)};
}

std::size_t smaller_side(const Comparison& sides) {
  return std::min(sides.a.size(), sides.b.size());
}

Verdict by_statistics(const Change& change, const Samples& samples, double least) {
  const auto [low, high] = *change.limits;
  if (low > -least && high < least) return Verdict::same;
  const double enough = std::max(significant, least_p(samples.a.size(), samples.b.size()));
  if (*change.p <= enough && std::abs(change.shift) > least) return direction(change.shift);
  return Verdict::unknown;
}

// Of 2 or 3 runs, all have to be above, or below.
Verdict by_order(const Change& change, const Samples& samples, double least) {
  const auto [low_a, high_a] = std::ranges::minmax(samples.a);
  const auto [low_b, high_b] = std::ranges::minmax(samples.b);
  if (high_b - low_a < least && high_a - low_b < least) return Verdict::same;
  const bool apart = low_b > high_a || high_b < low_a;
  return apart && std::abs(change.shift) > least ? direction(change.shift) : Verdict::unknown;
}

// How much the figures change between runs of the calibration, which are of one program. Nullopt:
// they do not have it.
std::vector<std::optional<double>> usual_changes(const Comparison& sides,
                                                 const std::vector<Question>& questions) {
  const std::vector<Run>& runs = sides.rules.calibration;
  std::vector<std::optional<double>> usual(questions.size());
  if (runs.empty()) return usual;
  std::vector<std::vector<double>> figures;
  for (const Question& question : questions) {
    figures.push_back(each(runs, question.in_calibration ? question.in_calibration : question.of));
  }
  const std::vector<double> shifts = usual_shifts(figures, sides.a.size(), sides.b.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const double time = mean(figures[i]);
    if (time > 0) usual[i] = std::max(1.0, questions[i].change->a / time) * shifts[i];
  }
  return usual;
}

void conclude(const Comparison& sides, const Question& question, const Samples& samples,
              const std::optional<double>& usual) {
  Change& change = *question.change;
  const double least =
      std::max({question.least, question.least_share * change.a, usual.value_or(0)});
  if (change.p) {
    change.verdict = by_statistics(change, samples, least);
  } else if (smaller_side(sides) > 1) {
    change.verdict = by_order(change, samples, least);
  } else if (sides.rules.trust_single_runs || usual) {
    change.verdict = std::abs(change.shift) <= least ? Verdict::same : direction(change.shift);
  }
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> each(const std::vector<Run>& runs, const FigureOf& of) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(of(run));
  return values;
}

Change measured(const Comparison& sides, const FigureOf& of) {
  const Samples samples = samples_of(sides, of);
  Change change{.a = mean(samples.a), .b = mean(samples.b), .shift = shift(samples.a, samples.b)};
  if (smaller_side(sides) >= enough_for_statistics) {
    change.limits = shift_limits(samples.a, samples.b);
  }
  return change;
}

void judge(const Comparison& sides, const std::vector<Question>& questions) {
  std::vector<Samples> samples;
  for (const Question& question : questions) samples.push_back(samples_of(sides, question.of));
  if (smaller_side(sides) >= enough_for_statistics) {
    const std::vector<double> p = permutation_p(samples);
    for (std::size_t i = 0; i < questions.size(); ++i) questions[i].change->p = p[i];
  }
  const auto usual = usual_changes(sides, questions);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    conclude(sides, questions[i], samples[i], usual[i]);
  }
}

}  // namespace gpuprof::compare
