// Statistics of two small samples whose members are runs: launches of one run are not independent,
// runs are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gpuprof::compare {

// Of a copy; the mean of the two in the middle if there is an even number. Not of nothing.
double median(std::vector<double> values);

// One figure of the runs of both sides.
struct Samples {
  std::vector<double> a, b;
};

// For each figure the probability that runs from one population differ in the mean of any of these
// figures at least as much as its samples do, measured by how much the figure varies (Westfall and
// Young's maxT): of all these questions together, not of each, 2 % are answered wrongly if 0.02 is
// asked for. A single figure has the plain permutation test. Exact as long as there are few ways to
// divide the runs, otherwise from a sample of them, always the same one. All figures have the same
// numbers of runs.
std::vector<double> permutation_p(std::span<const Samples> figures);

// The smallest that the above can be for samples of these sizes.
double least_p(std::size_t a, std::size_t b);

// By how much b is above a: the median of all differences (Hodges and Lehmann).
double shift(std::span<const double> a, std::span<const double> b);

// Between which limits the shift lies with 95 % confidence, by the ranks of the differences (Mann
// and Whitney). Nullopt: the samples are too small, which is so below 4 and 4.
std::optional<std::pair<double, double>> shift_limits(std::span<const double> a,
                                                      std::span<const double> b);

// How much figures of runs of one program change between samples of these sizes that are drawn from
// them, 2000 times, always the same ones: the largest shift, up or down. As several are asked
// about, each gets at least as much, in units of how much it varies, as four of five of them have.
// `figures` have a value for each run, of which there are two or more; sizes are reduced to half of
// that.
std::vector<double> usual_shifts(std::span<const std::vector<double>> figures, std::size_t a,
                                 std::size_t b);

// The value that half of the weight is below. Not of nothing; pairs of value and weight.
double weighted_median(std::vector<std::pair<double, double>> values);

}  // namespace gpuprof::compare
