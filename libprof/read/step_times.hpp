// How long the steps of a run took, on the host: those of the process that has most.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::reading {

// A condition on rows of the table STEP.
inline constexpr char is_of_main_process[] =
    "processId = (SELECT processId FROM main.STEP GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1)";

struct StepSpread {
  std::int64_t count = 0;
  std::int64_t median = 0, longest = 0;  // ns
  std::int64_t longest_number = 0;       // among them, from 1
};

// `times`: of all steps in order, ns.
StepSpread spread_of(std::vector<std::int64_t> times);

}  // namespace gpuprof::reading
