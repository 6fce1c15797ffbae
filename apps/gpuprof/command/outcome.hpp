// Shared by run and replay: the last line.
#pragma once

#include "apps/gpuprof/run/log.hpp"
#include "libprof/record/recorder.hpp"

namespace gpuprof::app {

// "gpuprof: run.sqlite: 1234 records of 1 process, nothing lost".
void print_outcome(record::Recorder& recorder, Log& log);

}  // namespace gpuprof::app
