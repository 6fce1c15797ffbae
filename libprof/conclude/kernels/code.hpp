// Where the warps of a kernel were, and what they waited for: PC samples, or else counts of
// executed instructions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libprof/report/session.hpp"

namespace gpuprof::kernels {

struct Stall {
  std::string reason;  // text of the file
  std::int64_t samples = 0;
};

struct Line {
  std::string place;        // "/src/a.cu:12", or "+0x40" of the function; text of the file
  std::int64_t count = 0;   // samples, or executions by warps
  std::string mostly = {};  // what its warps waited for; empty: nothing, or not known
};

// Of all launches of a function together.
struct Code {
  std::int64_t samples = 0;
  std::int64_t executed = 0;  // instructions, by warps
  std::vector<Stall> stalls;  // of the samples, most first
  std::vector<Line> lines;    // by samples if there are any, most first

  std::int64_t all() const { return samples > 0 ? samples : executed; }
};

struct CodeByKernel {
  bool any = false;
  std::map<std::int64_t, Code> by_name;  // StringTable ids
};

// Of these kernels, by the ids of their names.
CodeByKernel read_code(report::Session& session, const std::vector<std::int64_t>& names);

}  // namespace gpuprof::kernels
