// What is changed when a schedule runs again.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::simulate {

// Bits; several can be changed together.
enum Mend : std::uint32_t {
  nothing = 0,
  // The host needs no time for these, where a GPU is idle meanwhile.
  allocating = 1 << 0,
  loading = 1 << 1,     // of code
  away = 1 << 2,        // being in no call of CUDA in gaps longer than 50 us, nor just before them
  short_gaps = 1 << 3,  // whatever it does in gaps of at most 50 us that began in no wait, and
                        // from one launch to the next if that is at most 50 us
  gaps = 1 << 4,        // whatever it does in a gap
  // The host does not wait for the GPU.
  waits = 1 << 5,
  // Copies between host and device, by how they are made, are in a stream of their own, and the
  // host does not wait for them.
  pageable_copies = 1 << 6,
  blocking_copies = 1 << 7,
  other_copies = 1 << 8,
  // These take no time.
  copies = 1 << 9,
  sets = 1 << 10,
  // Copies of pageable memory are as fast as those of pinned memory, and the host does not wait for
  // them.
  pinned = 1 << 11,
  // Pools keep their memory: calls that use them take no time where a GPU is idle meanwhile, and
  // those that synchronize do not give memory back.
  pools = 1 << 12,
  // Work waits for nothing but what is known.
  queued = 1 << 13,
  // Work does not wait for that of other streams.
  streams = 1 << 14,
  // Kernels are faster, by what a rule of gpuprof findings says.
  kernels = 1 << 15,
  // Slow steps take what the others do. That is no change of the schedule: the account says it.
  slow_steps = 1 << 16,
};

struct Change {
  std::uint32_t mends = nothing;
  std::vector<double> faster = {};  // by Schedule::names, at least 1; empty: no kernel is faster

  bool has(std::uint32_t mend) const { return (mends & mend) != 0; }
};

}  // namespace gpuprof::simulate
