// Kernels that most likely are one kernel with two names: compilers put numbers and parameters into
// the names of what they generate.
#pragma once

#include <map>
#include <string>

#include "libprof/conclude/compare/comparison.hpp"

namespace gpuprof::compare {

// B's names of such kernels, and A's. All runs of a side have the kernel and none of the other
// does; they are launched equally often, in the same shapes if these are known, take at least 1 %
// of the step and at most twice as long on one side; and of all that fit they are nearest to one
// another in time.
std::map<std::string, std::string> find_renamed(const Comparison& sides);

}  // namespace gpuprof::compare
