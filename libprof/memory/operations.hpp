// The allocations and releases that a file has, and what stood around them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libprof/derive/sorted.hpp"
#include "libprof/memory/driver_memory.hpp"
#include "libprof/memory/sweep.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::memory {

// What owners are: what asked for the memory, the NVTX ranges around the call (their path), the
// functions above it, the kind of memory, or the pool.
enum class By { library, nvtx, stack, kind, pool };

struct Recorded {
  derive::Sorted<Operation> operations;
  bool any = false;
  bool any_library = false;  // some allocation has one
  CallsRead calls;           // of --track-memory
};

// Fills `recorded` with MEMORY2, MEMORY_POOL and MEMORY_CALL. An owner is a StringTable id, with
// By::pool the address of a pool, with By::stack a stack; 0: none. `check` is called now and then
// and may throw. Throws Error where ranges are asked for and the file's are not computed, or stacks
// and it has none. Memory: what Sorted takes, and with ranges 80 bytes for each of those. `mapped`:
// see DriverMemory.
void read_operations(store::Snapshot& snapshot, By by, Recorded& recorded,
                     const std::function<void()>& check, const DriverMemory::Emit& mapped = {});

// What decides on leaks and on the steady state, by process.
struct Surroundings {
  struct Process {
    std::string program;           // path; empty: not known
    std::string no_verdict;        // why nothing can be said of leaks; empty: it can
    std::int64_t context_end = 0;  // last call that ended a context; 0: none
    std::int64_t first_work = 0;   // of a GPU; 0: none
    std::int64_t end = 0;          // when its collector ended; 0: not known
  };
  std::map<std::int64_t, Process> processes;

  struct Step {
    std::int64_t process = 0, start = 0, end = 0;
  };
  std::vector<Step> steps;  // that ended, by process and start

  // Calls that said there is no memory.
  struct Failure {
    bool runtime = false;
    std::int64_t cbid = 0, process = 0;
    std::int64_t count = 0;
    std::int64_t first = 0;  // when the first was made
  };
  std::vector<Failure> failures;
};
Surroundings read_surroundings(store::Snapshot& snapshot, const std::function<void()>& check);

}  // namespace gpuprof::memory
