// Recognizes log files, so that a log may overwrite another log but no other file.
#pragma once

#include <string>

namespace gpuprof::report {

// Whether the file begins like a log of gpuprof or nvprof: with messages, or reports as text, CSV
// or JSON. False for an empty file.
bool is_log(const std::string& path);

}  // namespace gpuprof::report
