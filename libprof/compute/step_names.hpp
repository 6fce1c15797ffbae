// Which NVTX ranges of a run are steps.
#pragma once

#include <memory>
#include <string>

#include "libprof/base/pattern.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Those whose names match --step, or have one of the usual names of steps.
class StepNames {
 public:
  // The run's --step must be in the file already, if it has one.
  explicit StepNames(store::Database& database);

  bool has(const std::string& name) const;

 private:
  std::unique_ptr<Pattern> pattern_;  // null: usual names
};

}  // namespace gpuprof::compute
