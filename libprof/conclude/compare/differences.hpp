// Whether the runs of two sides did the same thing.
#pragma once

#include "libprof/conclude/compare/comparison.hpp"

namespace gpuprof::compare {

// Sides with less in common do not do the same work; see common_share().
inline constexpr double least_common = 0.9;

// The time of kernels that both sides run, as a share of that of all.
double common_share(const std::vector<KernelChange>& kernels);

// What differs between the sides, except for times.
std::vector<Difference> find_differences(const Comparison& sides, double common);

}  // namespace gpuprof::compare
