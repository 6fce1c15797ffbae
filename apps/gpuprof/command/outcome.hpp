// Shared by run and replay: the last lines.
#pragma once

#include <cstdint>

#include "apps/gpuprof/run/log.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/report/stalled_work.hpp"

namespace gpuprof::app {

// "gpuprof: cost: 1.9 % of 12.3 s in gpuprof's callbacks (API calls 1.1, …", where that is known
// and wanted, what had not ended, and "gpuprof: run.sqlite: 1234 records of 1 process, nothing
// lost".
struct Outcome {
  bool cost = true;
  std::int64_t hang_after = report::StalledWork::usual_time;  // ns; see StalledWork
};
void print_outcome(record::Recorder& recorder, Log& log, Outcome wanted = {});

}  // namespace gpuprof::app
