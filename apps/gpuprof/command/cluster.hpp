// The Python package's commands for many ranks.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::app {

// Replaces this process by `gpuprof cluster WORDS`, so that signals and the exit code are Python's.
// Returns only by an Error.
int run_cluster(const std::vector<std::string>& words);

// Whether it is a folder that `gpuprof cluster build` wrote.
bool is_store(const std::string& path);

}  // namespace gpuprof::app
