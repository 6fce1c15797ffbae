// What requests of both parts of the counters' interface have in common.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::counters {

// Paths where this library looks for libcupti, in order. If `chosen` is not empty, it is the only
// one.
std::vector<std::string> cupti_candidates(const std::string& chosen);

// Parses a JSON array of strings. Throws Error.
std::vector<std::string> read_names(const char* json);

}  // namespace gpuprof::counters
