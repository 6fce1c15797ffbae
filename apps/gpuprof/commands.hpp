// What gpuprof can be told to do: one file per command. Each returns the program's exit code and
// throws gpuprof::Error for what ends it.
#pragma once

#include "apps/gpuprof/options.hpp"

namespace gpuprof::app {

int run_command(const Options& options);
int replay_command(const Options& options);
int import_command(const Options& options);
int schema_command();

}  // namespace gpuprof::app
