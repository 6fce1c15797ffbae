// The Python package's commands for many ranks.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::app {

// The program and the arguments of `gpuprof cluster WORDS`. Throws Error if there is no Python or
// no package.
std::vector<std::string> cluster_line(const std::vector<std::string>& words);

// Replaces this process by `gpuprof cluster WORDS`, so that signals and the exit code are Python's.
// Returns only by an Error.
int run_cluster(const std::vector<std::string>& words);

// Whether it is a folder that `gpuprof cluster build` wrote.
bool is_store(const std::string& path);

}  // namespace gpuprof::app
