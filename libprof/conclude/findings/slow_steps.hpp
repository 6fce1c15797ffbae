// Steps that take much longer than most, and the accounts of their time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/compute/account.hpp"
#include "libprof/conclude/findings/statement.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {

struct SlowSteps {
  static constexpr std::size_t fewest_steps = 10;  // of which a step can be an exception
  static constexpr std::size_t most = 8;           // that are looked at, the longest

  struct Step {
    std::int64_t first = 0, last = 0;  // ns on CUPTI's clock
    Room parts = {};
  };
  std::vector<Step> steps;
  // What a step that is not among them has on average, ns.
  Room usual;
};

// Those of a tenth of the steps at most that take over 1.2 times the median, and over the median
// and 5 median absolute deviations, scaled as that of a normal distribution. `all` is the account
// of all steps. Reads GPU work and calls if there are any. `check` is called now and then and may
// throw.
SlowSteps read_slow_steps(store::Snapshot& snapshot, const reading::JudgedWindow& judged,
                          const Room& all, const std::function<void()>& check);

}  // namespace gpuprof::findings
