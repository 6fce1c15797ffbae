// Traces: one line per record, in time order.
//
// Rows are merged while printing, so memory does not grow with the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libprof/base/merge.hpp"
#include "libprof/report/report_table.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

enum class TraceField {
  start,
  duration,
  grid,
  block,
  registers,
  static_memory,
  dynamic_memory,
  size,
  throughput,
  source_memory,
  destination_memory,
  device,
  context,
  stream,
  grid_id,
  parent_id,
  parent_block,
  source_device,
  source_context,
  destination_device,
  destination_context,
  system,
  unified_memory,
  instant_event,
  instant_metric,
  address,
  directive_device,  // the device, in the column where other rows have none
  name,
  correlation_id,
  // Only in JSON.
  kind,
  absolute_start,
  kernel,  // launched by an API call
  device_id,
  process_id,
  thread_id,
  count,
};

struct TraceColumn {
  TraceField field;
  Column column;
};

// The parts of a trace, in one table.
struct TraceParts {
  bool gpu = false, api = false, openacc = false;
};

class TraceSource;

class Trace {
 public:
  // Shows nvprof's columns for these parts, except those without data in the file, with units if
  // the layout has fixed ones.
  Trace(Session& session, TraceParts parts);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // May be changed before the first next().
  std::vector<TraceColumn>& columns() { return columns_; }

  // Whether the trace has only kernels.
  bool kernels_alone() const;

  // Advances to the next row; false at the end. Starts count from the run's zero, like --from; but
  // in a full trace of nvprof's own files they count from the first row, like nvprof's.
  bool next();
  // The row's cells, one per column, valid until next().
  std::span<const Cell> cells() const;
  bool is_kernel() const;
  std::int64_t correlation_id() const;

 private:
  void make_columns(TraceParts parts);
  void set_scales(TraceParts parts);
  void widen_for_names();
  bool has(std::string_view kind) const;

  Session& session_;
  std::vector<TraceColumn> columns_;
  Merge<TraceSource> rows_;
  bool begun_ = false;
  std::optional<std::int64_t> zero_;  // of the run; nullopt: starts count from the first row
  std::int64_t origin_ = 0;
};

// Explains the columns below a trace of GPU work; text only.
void print_footnotes(Output& output, std::span<const TraceColumn> columns);

// Prints the trace with footnotes, or "No kernels were profiled." if it has no row.
void print_trace(Session& session, TraceParts parts);

}  // namespace gpuprof::report
