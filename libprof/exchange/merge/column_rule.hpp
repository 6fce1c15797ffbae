// Which tables merging copies, and what it does with the values of their columns.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/column.hpp"

namespace gpuprof::merging {

enum class ColumnRule : std::uint8_t {
  copied,
  omitted,      // a row's own number, which it gets again
  string,       // StringTable id
  time,         // on CUPTI's clock
  correlation,  // the high 32 bits are PROCESS.number
  number,       // PROCESS.number
  process,
  device,
  device_or_host,  // also numbers that are no device's
  object,          // CUpti_ActivityObjectKindId: process and thread, or device, context and stream
};

ColumnRule rule_of(const schema::Table& table, const schema::Column& column);

// Records, allocations and stacks, processes with their clocks and layouts of payloads, statistics
// and messages. Everything else is computed from these, the same in every file, or a measurement
// whose numbers have a meaning in its own file only.
std::vector<const schema::Table*> merged_tables();

// Whether rows of it are measurements: metrics, PM samples, PC samples, SASS metrics.
bool is_measured(const schema::Table& table);

}  // namespace gpuprof::merging
