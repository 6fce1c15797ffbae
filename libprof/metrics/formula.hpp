// A formula over counters: + - * / ( ), numbers, and CUPTI's full names, such as
// "100 * a__hits.sum / a__all.sum".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::metrics {

class Formula {
 public:
  // Throws gpuprof::Error for what is no formula.
  explicit Formula(std::string_view text);

  // Each name once, in the order of the text.
  const std::vector<std::string>& counters() const { return counters_; }

  // From the counters' values, in their order. 0 / 0 is 0, as nvprof shows a ratio of nothing to
  // nothing; anything else by 0 is NaN. A NaN among the values makes the result NaN.
  double value(std::span<const double> counters) const;

 private:
  class Parser;

  // In the order in which a stack machine takes them.
  struct Step {
    char operation;           // + - * / ~ (change of sign), n (number), c (counter)
    double number = 0;        // n
    std::size_t counter = 0;  // c: its place in counters_
  };
  std::vector<Step> steps_;
  std::vector<std::string> counters_;
};

}  // namespace gpuprof::metrics
