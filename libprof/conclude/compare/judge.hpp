// The verdict on figures of the runs of two sides.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "libprof/conclude/compare/comparison.hpp"

namespace gpuprof::compare {

// With this number of runs on each side, statistics decide.
inline constexpr std::size_t enough_for_statistics = 4;

using FigureOf = std::function<double(const Run&)>;

// The figures of the sides, without a verdict.
Change measured(const Comparison& sides, const FigureOf& of);

struct Question {
  FigureOf of;
  Change* change;  // of measured(); gets p and verdict
  // From which change on it counts: in the figure's unit, and as a share of a's.
  double least = 0, least_share = 0;
  // Of the runs of the calibration, if it is not the same there.
  FigureOf in_calibration = {};
};

// Answers questions that are asked together, of which any wrong answer is one too many.
void judge(const Comparison& sides, const std::vector<Question>& questions);

double mean(const std::vector<double>& values);
std::vector<double> each(const std::vector<Run>& runs, const FigureOf& of);

}  // namespace gpuprof::compare
