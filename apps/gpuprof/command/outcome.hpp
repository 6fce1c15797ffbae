// Shared by run and replay: the last lines.
#pragma once

#include "apps/gpuprof/run/log.hpp"
#include "libprof/record/recorder.hpp"

namespace gpuprof::app {

// "gpuprof: cost: 1.9 % of 12.3 s in gpuprof's callbacks (API calls 1.1, …", where that is known
// and `with_cost`, and "gpuprof: run.sqlite: 1234 records of 1 process, nothing lost".
void print_outcome(record::Recorder& recorder, Log& log, bool with_cost = true);

}  // namespace gpuprof::app
