#include "libprof/report/trace.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/totals.hpp"
#include "libprof/report/trace/source.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {

Trace::Trace(Session& session, TraceParts parts) : session_(session) {
  const auto add = [&](std::unique_ptr<TraceSource> source) {
    if (source->any()) rows_.add(std::move(source));
  };
  if (parts.gpu) {
    // Of work that begins at the same time, copies and sets come first, then kernels.
    for (const bool nvprofs : {true, false}) {
      for (const bool kernels : {false, true}) {
        for (const schema::GpuKind& work : schema::gpu_kinds) {
          if (work.nvprofs == nvprofs && work.is_kernel() == kernels)
            add(work_source(session, work));
        }
      }
    }
  }
  if (parts.api) {
    for (auto& source : api_sources(session)) add(std::move(source));
    add(marker_source(session));
  }
  if (parts.openacc) {
    for (const OpenaccKind& kind : openacc_kinds) {
      add(openacc_source(session, kind));
    }
  }
  if (parts.gpu) {
    for (const ValueTable& table : device_value_tables) {
      add(instant_source(session, table));
    }
  }
  add(environment_source(session));
  add(unified_memory_source(session));
  const Filter& filter = session.options().filter;
  const bool filtered = filter.from.given() || filter.to.given() || !filter.kernels.empty() ||
                        !filter.devices.empty();
  if (filtered || session.output().keyed() || session.is_ours()) zero_ = session.zero();
  make_columns(parts);
  if (Table::fixed_units(session.output())) set_scales(parts);
  if ((parts.gpu || parts.openacc) && session.output().text()) widen_for_names();
}

Trace::~Trace() = default;

bool Trace::has(std::string_view kind) const {
  return std::ranges::any_of(rows_.sources(),
                             [&](const auto& source) { return source->kind() == kind; });
}

bool Trace::kernels_alone() const {
  return std::ranges::all_of(rows_.sources(),
                             [](const auto& source) { return source->is_kernel(); });
}

void Trace::make_columns(TraceParts parts) {
  using enum TraceField;
  const bool json = session_.output().keyed();
  const auto add = [&](TraceField field, const char* heading, int width, Quantity quantity,
                       const char* key, const char* csv = "") {
    columns_.push_back(
        {field,
         {.heading = heading, .width = width, .quantity = quantity, .csv = csv, .key = key}});
  };
  const auto add_json = [&](TraceField field, const char* key, Quantity quantity) {
    if (json) add(field, "", 0, quantity, key);
  };
  add_json(kind, "kind", Quantity::text);
  add_json(absolute_start, "start_ns", Quantity::count);
  add(start, "Start", 8, Quantity::time, "relative_start_ns");
  columns_.back().column.down = zero_.has_value();
  add(duration, "Duration", 8, Quantity::time, "duration_ns");
  if (parts.gpu) {
    add(grid, "Grid Size", 19, Quantity::dimensions, "grid", "Grid");
    add(block, "Block Size", 14, Quantity::dimensions, "block", "Block");
    add(registers, "Regs*", 8, Quantity::count, "registers_per_thread", "Registers Per Thread");
    add(static_memory, "SSMem*", 8, Quantity::size, "static_shared_memory_bytes", "Static SMem");
    add(dynamic_memory, "DSMem*", 8, Quantity::size, "dynamic_shared_memory_bytes", "Dynamic SMem");
  }
  const bool transfers = has("MEMCPY") || has("MEMSET") || has("MEMCPY2");
  if (transfers || has("OPENACC_DATA")) add(size, "Size", 8, Quantity::size, "size_bytes");
  if (parts.gpu) {
    if (transfers) {
      add(throughput, "Throughput", 10, Quantity::speed, "throughput_bytes_per_s");
      add(source_memory, "SrcMemType", 10, Quantity::text, "source_memory");
      add(destination_memory, "DstMemType", 10, Quantity::text, "destination_memory");
    }
  }
  if (parts.gpu || parts.openacc) {
    add(parts.gpu || json ? device : directive_device, "Device", 15, Quantity::text, "device");
    add_json(device_id, "device_id", Quantity::count);
    add(context, "Context", 8, Quantity::text, "context");
    add(stream, "Stream", 8, Quantity::text, "stream");
  }
  if (parts.gpu) {
    if (has("CDP_KERNEL")) {
      add(grid_id, "ID", 10, Quantity::count, "grid_id");
      add(parent_id, "Parent ID", 10, Quantity::count, "parent_grid_id");
      add(parent_block, "Parent Block", 19, Quantity::dimensions, "parent_block");
    }
    if (has("MEMCPY2")) {
      add(source_device, "Src Dev", 15, Quantity::text, "source_device");
      add(source_context, "Src Ctx", 8, Quantity::text, "source_context");
      add(destination_device, "Dst Dev", 15, Quantity::text, "destination_device");
      add(destination_context, "Dst Ctx", 8, Quantity::text, "destination_context");
    }
  }
  if (has("ENVIRONMENT")) add(system, "System", 20, Quantity::text, "system");
  if (has("UNIFIED_MEMORY_COUNTER")) {
    add(unified_memory, "Unified Memory", 20, Quantity::size, "unified_memory");
    if (parts.gpu || json) add(address, "Virtual Address", 15, Quantity::text, "address");
  }
  if (std::ranges::any_of(device_value_tables,
                          [&](const ValueTable& table) { return has(table.kind); })) {
    add(instant_event, "Instantaneous Event", 40, Quantity::bits, "instantaneous_event");
    add(instant_metric, "Instantaneous Metric", 40, Quantity::bits, "instantaneous_metric");
    columns_.back().column.scale.unit = "B/s";  // nvprof prints it regardless of the unit
  }
  add(name, "Name", 0, Quantity::text, "name");
  if (parts.api) add_json(kernel, "kernel", Quantity::text);
  add(correlation_id, "Correlation_ID", 0, Quantity::count, "correlation_id");
  columns_.back().column.csv_only = true;
  add_json(process_id, "process_id", Quantity::count);
  if (parts.api || parts.openacc) add_json(thread_id, "thread_id", Quantity::count);
}

// Column units follow the largest values.
void Trace::set_scales(TraceParts parts) {
  Largest largest(columns_.size());
  const auto add = [&](TraceField field, std::int64_t value) {
    const auto column = std::ranges::find(columns_, field, &TraceColumn::field);
    if (column == columns_.end() || value <= 0) return;
    largest.add(static_cast<std::size_t>(column - columns_.begin()),
                static_cast<std::uint64_t>(value));
  };
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  const bool openacc_alone = !parts.gpu && !parts.api;
  for (const auto& source : rows_.sources()) {
    // For a trace of OpenACC alone, nvprof considers no other rows.
    if (openacc_alone && !source->kind().starts_with("OPENACC")) continue;
    session_.output().progress("reading " + table_name(source->kind()));
    const std::string time(source->time());
    std::string sql = "SELECT min(" + time + "), max(" + time + ")";
    for (const auto& [field, amount] : source->amounts()) sql += ", max(" + amount + ")";
    auto row = session_.database().prepare(sql + " FROM " + table_name(source->kind()) + " " +
                                           source->where());
    row.step();
    first = std::min(first, row.integer(0));
    // nvprof does not consider these rows here.
    const bool looked_at =
        source->kind() != "ENVIRONMENT" && source->kind() != "UNIFIED_MEMORY_COUNTER";
    if (looked_at) last = std::max(last, row.integer(1));
    int column = 2;
    for (const auto& [field, amount] : source->amounts()) add(field, row.integer(column++));
  }
  const std::int64_t origin = zero_.value_or(first);
  if (origin < last) add(TraceField::start, saturating_subtract(last, origin));
  if (!rows_.sources().empty() && last == INT64_MIN) add(TraceField::start, INT64_MAX);
  std::vector<Column> columns;
  for (const TraceColumn& each : columns_) columns.push_back(each.column);
  largest.set_scales(columns, session_.output());
  for (std::size_t i = 0; i < columns.size(); ++i) columns_[i].column.scale = columns[i].scale;
}

// Named contexts and streams are wider than numbers. nvprof's column is as wide as the longest
// name, whether or not a row has it.
void Trace::widen_for_names() {
  constexpr std::size_t most = 1 << 20;
  const Names& names = session_.names();
  for (TraceColumn& each : columns_) {
    const std::size_t longest = each.field == TraceField::context  ? names.longest_context()
                                : each.field == TraceField::stream ? names.longest_stream()
                                                                   : 0;
    each.column.width = std::max(each.column.width, static_cast<int>(std::min(longest, most)));
  }
}

bool Trace::next() {
  const bool first = !std::exchange(begun_, true);
  if (first) {
    for (const auto& source : rows_.sources()) {
      source->show(columns_);
      source->begin();
    }
  }
  TraceSource* current = rows_.next();
  if (!current) return false;
  if (first) origin_ = zero_.value_or(current->start());
  current->fill(origin_);
  return true;
}

std::span<const Cell> Trace::cells() const { return rows_.current()->cells(); }
bool Trace::is_kernel() const { return rows_.current()->is_kernel(); }
std::int64_t Trace::correlation_id() const { return rows_.current()->correlation_id(); }

void print_footnotes(Output& output, std::span<const TraceColumn> columns) {
  if (!output.text()) return;
  output.line();
  output.line(
      "Regs: Number of registers used per CUDA thread. This number includes registers used "
      "internally by the CUDA driver and/or tools and can be more than what the compiler shows.");
  output.line("SSMem: Static shared memory allocated per CUDA block.");
  output.line("DSMem: Dynamic shared memory allocated per CUDA block.");
  const bool transfers = std::ranges::any_of(
      columns, [](const TraceColumn& each) { return each.field == TraceField::source_memory; });
  if (!transfers) return;
  output.line("SrcMemType: The type of source memory accessed by memory operation/copy");
  output.line("DstMemType: The type of destination memory accessed by memory operation/copy");
}

void print_trace(Session& session, TraceParts parts) {
  Output& output = session.output();
  Trace trace(session, parts);
  std::vector<Column> columns;
  for (const TraceColumn& each : trace.columns()) columns.push_back(each.column);
  const auto [gpu, api, openacc] = parts;
  const char* name = "trace";
  if (gpu + api + openacc == 1) name = gpu ? "gpu_trace" : api ? "api_trace" : "openacc_trace";
  Table table(output, name, std::move(columns));
  bool any = false;
  for (; trace.next(); any = true) table.row(trace.cells());
  if (!any) {
    output.line("No kernels were profiled.");
    if (output.keyed()) table.heading();
    return;
  }
  if (gpu) print_footnotes(output, trace.columns());
}

}  // namespace gpuprof::report
