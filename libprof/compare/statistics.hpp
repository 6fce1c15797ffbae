// Statistics of two small samples whose members are runs: launches of one run are not independent,
// runs are.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gpuprof::compare {

// Of a copy; the mean of the two in the middle if there is an even number. Not of nothing.
double median(std::vector<double> values);

// The probability that samples from one population differ in their means at least as much as these.
// Exact as long as there are at most two million ways to divide the values; otherwise from 100,000
// of them, always the same ones.
double permutation_p(std::span<const double> a, std::span<const double> b);

// By how much b is above a: the median of all differences (Hodges and Lehmann).
double shift(std::span<const double> a, std::span<const double> b);

// Between which limits the shift lies with 95 % confidence, by the ranks of the differences (Mann
// and Whitney). Nullopt: the samples are too small, which is so below 4 and 4.
std::optional<std::pair<double, double>> shift_limits(std::span<const double> a,
                                                      std::span<const double> b);

// Adjusts p for asking many questions (Benjamini and Hochberg): what is below 0.05 then is wrong in
// one of twenty cases.
std::vector<double> adjusted(std::span<const double> p);

}  // namespace gpuprof::compare
