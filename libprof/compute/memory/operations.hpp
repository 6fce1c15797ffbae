// The allocations and releases in a file, and their context.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libprof/compute/memory/driver_memory.hpp"
#include "libprof/compute/memory/sweep.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::memory {

// How memory is attributed to owners: by the library that requested it, the NVTX ranges around the
// call (their path), the functions above it, the kind of memory, or the pool.
enum class By { library, nvtx, stack, kind, pool };

struct Recorded {
  compute::Sorted<Operation> operations;
  bool any = false;
  bool any_library = false;  // some allocation has one
  CallsRead calls;           // from --track-memory
};

// Fills `recorded` from MEMORY2, MEMORY_POOL and MEMORY_CALL. An owner is a StringTable id; with
// By::pool, a pool's address; with By::stack, a stack; 0: none. `check` is called now and then and
// may throw. Throws Error if ranges are requested but not computed in the file, or stacks are
// requested and it has none. Memory: what Sorted uses, plus 80 bytes per range if requested.
// `mapped`: see DriverMemory.
void read_operations(store::Snapshot& snapshot, By by, Recorded& recorded,
                     const std::function<void()>& check, const DriverMemory::Emit& mapped = {});

// The basis for judging leaks and the steady state, by process.
struct Surroundings {
  struct Process {
    std::string program;           // path; empty: unknown
    std::string no_verdict;        // why leaks cannot be judged; empty: they can
    std::int64_t context_end = 0;  // last call that destroyed a context; 0: none
    std::int64_t first_work = 0;   // on a GPU; 0: none
    std::int64_t end = 0;          // when its collector ended; 0: unknown
  };
  std::map<std::int64_t, Process> processes;

  struct Step {
    std::int64_t process = 0, start = 0, end = 0;
  };
  std::vector<Step> steps;  // completed ones, by process and start

  // Calls that returned an out-of-memory error.
  struct Failure {
    bool runtime = false;
    std::int64_t cbid = 0, process = 0;
    std::int64_t count = 0;
    std::int64_t first = 0;  // time of the first one
  };
  std::vector<Failure> failures;
};
Surroundings read_surroundings(store::Snapshot& snapshot, const std::function<void()>& check);

}  // namespace gpuprof::memory
