// What run and replay have in common: the last line.
#pragma once

#include "apps/gpuprof/log.hpp"
#include "apps/gpuprof/recorder.hpp"

namespace gpuprof::app {

// "gpuprof: run.sqlite: 1234 records of 1 process, nothing lost".
void print_outcome(Recorder& recorder, Log& log);

}  // namespace gpuprof::app
