// Which tables merging copies, and what it does with the values of their columns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
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
  row_number,      // of a numbered table's row: see number_of()
};

ColumnRule rule_of(const schema::Table& table, const schema::Column& column);

// A table whose rows have numbers by which rows of other tables refer to them. All numbers of a
// file move by the same amount.
struct NumberedTable {
  const schema::Table* table;
  std::string_view column;
  // Its rows say what something is, metrics for instance: several files may have the same row.
  bool describes;
  // Numbers move by multiples of it.
  std::int64_t step = 1;
};
std::span<const NumberedTable> numbered_tables();

// A column with such numbers: those of a row itself, or of the row that it refers to.
struct RowNumber {
  const schema::Table* table;
  std::string_view column;
  const schema::Table* of;   // a numbered table
  std::int64_t divisor = 1;  // the column has groups of as many numbers; then they count from 0
};
// Null: the column has none.
const RowNumber* number_of(const schema::Table& table, std::string_view column);

// Records, samples, measurements, processes with their clocks and layouts of payloads, statistics
// and messages. Everything else is computed from these, or the same in every file.
std::vector<const schema::Table*> merged_tables();

// Whether only files that have rows of it have the table.
bool is_on_demand(const schema::Table& table);

}  // namespace gpuprof::merging
