// What changes would save, for gpuprof what-if.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/conclude/simulate/replay.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::simulate {

struct FasterKernels {
  std::string expression;  // a regular expression that is searched for in their names
  double times = 1;        // how many times as fast they are, at least 1
  std::uint64_t launches = 0;
};

struct Question {
  std::vector<FasterKernels> kernels;  // the first that matches a name counts
  std::uint32_t mends = nothing;
};

struct WhatIf {
  Question question;  // with the launches of its kernels
  reading::JudgedWindow judged;
  std::int64_t zero = 0;   // the run's, ns
  std::int64_t steps = 0;  // 0: none are known
  struct Device {
    std::string name;  // text of the file
    DeviceOutcome time;
  };
  std::vector<Device> devices;
  std::vector<std::string> doubts;  // sentences
};

// Of the steps, if there are any and nothing is chosen. Throws Error if no kernel matches an
// expression. `check` is called now and then and may throw.
WhatIf ask(store::Database& database, Question question, const reading::Moment& from,
           const reading::Moment& to, const std::function<void()>& check);

std::string what_if_text(const WhatIf& result);
// docs/json.md describes it.
std::string what_if_json(const WhatIf& result);

}  // namespace gpuprof::simulate
