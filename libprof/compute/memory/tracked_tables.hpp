// The tables of --track-memory (docs/memory.md).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/compute/memory/driver_memory.hpp"
#include "libprof/compute/memory/tables.hpp"

namespace gpuprof::memory {

void make_virtual_memory(const std::vector<VirtualUse>& uses, Table& made);

// `in_use`: what the process had at that time, for the first calls.
void make_failed_calls(reading::Profile& profile, const CallsRead& calls,
                       const std::vector<std::int64_t>& in_use,
                       const std::vector<DeviceReading>& readings, Table& made);

// `known`: what records account for at each reading.
void make_readings(reading::Profile& profile, const std::vector<DeviceReading>& readings,
                   const std::vector<std::int64_t>& known, Table& made);

// Periods in which memory not accounted for by any record grew, largest growth first.
void make_unaccounted(reading::Profile& profile, const std::vector<DeviceReading>& readings,
                      const std::vector<std::int64_t>& known, Table& made,
                      const std::function<void()>& check);

}  // namespace gpuprof::memory
