// A formula over counters: + - * / ( ), numbers, and CUPTI's full names, such as "100 * a__hits.sum
// / a__all.sum".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::metrics {

class Formula {
 public:
  // Throws gpuprof::Error for an invalid formula.
  explicit Formula(std::string_view text);

  // Without duplicates, in the order of the text.
  const std::vector<std::string>& counters() const { return counters_; }

  // Computed from the counters' values, in their order. 0 / 0 is 0, as nvprof shows a ratio of
  // nothing to nothing; anything else divided by 0 is NaN. A NaN among the values makes the result
  // NaN.
  double value(std::span<const double> counters) const;

 private:
  class Parser;

  // In postfix order, for a stack machine.
  struct Step {
    char operation;           // + - * / ~ (change of sign), n (number), c (counter)
    double number = 0;        // for n
    std::size_t counter = 0;  // for c: its index in counters_
  };
  std::vector<Step> steps_;
  std::vector<std::string> counters_;
};

}  // namespace gpuprof::metrics
