// What a log file is, so that one may take the place of another, and of nothing else.
#pragma once

#include <string>

namespace gpuprof::report {

// Whether a file begins as a log of gpuprof's or nvprof's does: with messages or reports as text,
// CSV or JSON. False of an empty one.
bool is_log(const std::string& path);

}  // namespace gpuprof::report
