// Rules of a project: limits of B, and thresholds of kernels and of parts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/conclude/compare/comparison.hpp"

namespace gpuprof::compare {

// Adds the rules of a file of rules, whose format docs/diff.md describes. Throws gpuprof::Error,
// which names the file, if it cannot be read or is wrong.
void read_rules(const std::string& path, Rules& rules);

// The rules' thresholds of kernels, by name. The rules must live as long. Throws gpuprof::Error for
// a wrong expression.
class KernelThresholds {
 public:
  explicit KernelThresholds(const Rules& rules);
  // The first whose expression is found in the name; null: there is none.
  const OwnThreshold* of(const std::string& kernel) const;

 private:
  std::vector<std::pair<std::unique_ptr<Pattern>, const OwnThreshold*>> patterns_;
};

// Whether B keeps the rules, in a comparison that has all else.
std::vector<Check> check_rules(const Comparison& sides);

}  // namespace gpuprof::compare
