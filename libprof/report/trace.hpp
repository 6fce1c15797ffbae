// Traces: one line per record, in the order of time.
//
// The rows are merged while they are printed, so that memory does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libprof/read/merge.hpp"
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
  directive_device,  // device, where other rows show none
  name,
  correlation_id,
  // These are in JSON alone.
  kind,
  absolute_start,
  kernel,  // that an API call launched
  device_id,
  process_id,
  thread_id,
  count,
};

struct TraceColumn {
  TraceField field;
  Column column;
};

// What is traced, in one table.
struct TraceParts {
  bool gpu = false, api = false, openacc = false;
};

class TraceSource;

class Trace {
 public:
  // What nvprof shows of these parts: columns as far as the file has rows for them, with their
  // units if the layout has fixed ones.
  Trace(Session& session, TraceParts parts);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // May be changed before the first next().
  std::vector<TraceColumn>& columns() { return columns_; }

  // Whether there is nothing but kernels.
  bool kernels_alone() const;

  // To the next row; false: there are no more. Starts count from the run's zero, as --from does,
  // but in a whole trace of nvprof's own files from the first row, as nvprof's do.
  bool next();
  // Of the row: a cell per column, valid until next().
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
  reading::Merge<TraceSource> rows_;
  std::optional<std::int64_t> zero_;  // of the run; nothing: starts count from the first row
  std::int64_t origin_ = 0;
};

// What the columns mean, below a trace of GPU work; in text only.
void print_footnotes(Output& output, std::span<const TraceColumn> columns);

// With footnotes; "No kernels were profiled." if there is no row.
void print_trace(Session& session, TraceParts parts);

}  // namespace gpuprof::report
