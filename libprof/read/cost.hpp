// What recording a run cost, by the STATISTIC rows cost_ns, background_ns and cost_bytes.
//
// Costs of the program are time on its own threads, in callbacks of the collector and where CUPTI
// says so (OVERHEAD). What CUPTI does within the driver's calls without saying so is not known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

struct Cost {
  // What the time of the program's threads went into while it was recorded, ns.
  struct Part {
    std::string kind;  // STATISTIC.kind, or "cupti"
    std::string name;
    std::int64_t ns = 0;
  };
  std::vector<Part> parts;
  // Of all processes, from the first to the last reading of their clocks, ns.
  std::int64_t recorded = 0;
  // On the program's threads before and after that, ns.
  std::int64_t start = 0, end = 0;
  // Time of the processor, ns: CUPTI's and the collector's threads; gpuprof.
  std::int64_t background = 0, launcher = 0;
  // Bytes: sent to gpuprof; shared memory of the collectors; gpuprof's memory at its peak.
  std::int64_t sent = 0, arena = 0, launcher_memory = 0;

  bool known() const { return recorded > 0 && !parts.empty(); }
  std::int64_t of_program() const;  // the sum of the parts
  Cost& operator+=(const Cost& other);
};

// Of a file that says nothing about it, known() is false.
Cost read_cost(store::Database& database);

// "1.9 % of 12.3 s: API calls 1.1, launches 0.5, NVTX 0.2, flush 0.1; …". The parts are shares of
// the recorded time too, and add up.
std::string text_of(const Cost& cost);

}  // namespace gpuprof::reading
