// Rules of a project: limits of B, and thresholds of kernels and of parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/compare/comparison.hpp"

namespace gpuprof::compare {

// Adds the rules of a file of rules, whose format docs/diff.md describes. Throws gpuprof::Error,
// which names the file, if it cannot be read or is wrong.
void read_rules(const std::string& path, Rules& rules);

// The rules' thresholds of kernels, by name. Throws gpuprof::Error for a wrong expression.
class KernelThresholds {
 public:
  explicit KernelThresholds(const Rules& rules);
  // That of the first expression that is found in the name.
  std::optional<double> of(const std::string& kernel) const;

 private:
  std::vector<std::pair<std::unique_ptr<Pattern>, double>> patterns_;
};

// Whether B keeps the rules, in a comparison that has all else.
std::vector<Check> check_rules(const Comparison& sides);

}  // namespace gpuprof::compare
