#include "libprof/c_api/view_columns.hpp"

#include <initializer_list>

#include "libprof/base/letter_case.hpp"
#include "schema/traits.hpp"

namespace gpuprof::c_api {
namespace {

using enum ViewColumn::Is;
using Columns = std::vector<ViewColumn>;

Columns together(std::initializer_list<Columns> parts) {
  Columns all;
  for (const Columns& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string in_camel_case(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (text.ends_with('_')) {
      text.back() = static_cast<char>(c - 'a' + 'A');
    } else {
      text += c;
    }
  }
  return text;
}

// What the table has as well: device_id is its deviceId.
Columns same(std::initializer_list<std::string_view> names) {
  Columns all;
  for (const std::string_view name : names) all.push_back({name, number, {in_camel_case(name)}});
  return all;
}

Columns answers(std::initializer_list<std::string_view> names, const std::vector<std::string>& of) {
  Columns all;
  for (const std::string_view name : names) all.push_back({name, answer, of});
  return all;
}

Columns times(const std::string& end = "end") {
  return {{"start", number, {"start"}, 0},
          {"end", number, {end}, 0},
          {"duration", difference, {end, "start"}, 0}};
}

// Of work on the GPU.
Columns whose() {
  return together({same({"device_id", "context_id", "stream_id", "correlation_id", "graph_id",
                         "graph_node_id", "process_id"}),
                   {{"range_id", number, {"LAUNCH_RANGE.range"}}, {"t_ms", run_ms, {"start"}, 0}},
                   answers({"range_name", "range_path"}, {"LAUNCH_RANGE.range"}),
                   answers({"range_match"}, {"LAUNCH_RANGE.byThread"})});
}

Columns kernels() {
  std::vector<std::string> shape(schema::launch_columns.begin(), schema::launch_columns.end());
  shape.insert(shape.end(), {"deviceId", "processId"});
  return together(
      {times(),
       whose(),
       same({"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "static_shared_memory",
             "dynamic_shared_memory", "shared_memory_executed", "local_memory_per_thread",
             "cluster_x", "cluster_y", "cluster_z", "max_active_clusters", "priority"}),
       {{"registers", number, {"registersPerThread"}},
        {"queued", number, {"queued"}, 0},
        {"submitted", number, {"submitted"}, 0}},
       answers({"name", "short_name", "display_name", "mangled_name"}, {"name"}),
       answers({"grid", "blocks"}, {"gridX", "gridY", "gridZ"}),
       answers({"block"}, {"blockX", "blockY", "blockZ"}),
       answers({"threads"}, {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"}),
       answers(
           {"theoretical_occupancy", "occupancy_limiter", "blocks_per_sm", "waves", "tail_share"},
           shape),
       answers({"launch_type"}, {"launchType"})});
}

// Copies and sets.
Columns transfers() {
  return together({times(),
                   whose(),
                   same({"bytes"}),
                   {{"throughput", rate, {"bytes", "end", "start"}}},
                   answers({"is_async"}, {"flags"})});
}

Columns memcpys() {
  return together({transfers(), same({"src_device_id", "dst_device_id"}),
                   answers({"kind"}, {"copyKind"}), answers({"src_memory"}, {"srcKind"}),
                   answers({"dst_memory"}, {"dstKind"})});
}

Columns memsets() {
  return together({transfers(), same({"value"}), answers({"memory"}, {"memoryKind"})});
}

Columns api_calls() {
  return together({times(),
                   same({"correlation_id", "return_value", "cbid", "thread_id", "process_id"}),
                   answers({"domain"}, {}), answers({"name"}, {"cbid"})});
}

Columns nvtx_ranges() {
  return together({same({"start", "depth", "parent", "payload_int", "payload_double", "color",
                         "category", "thread_id", "process_id"}),
                   {{"end", number, {"stop"}},
                    {"duration", difference, {"stop", "start"}},
                    {"id", number, {"_id_"}}},
                   answers({"name"}, {"name"}),
                   answers({"domain"}, {"domain"}),
                   answers({"kind"}, {"kind"})});
}

Columns synchronizations() {
  constexpr std::int64_t no_id = 0xffffffff;
  return together(
      {times(),
       same({"context_id", "return_value", "correlation_id", "process_id"}),
       {{"stream_id", number, {"streamId"}, no_id}, {"event_id", number, {"cudaEventId"}, no_id}},
       answers({"type"}, {"type"})});
}

// What both views of allocations have.
Columns allocation() {
  return together({same({"address", "device_id", "process_id"}),
                   {{"time", number, {"timestamp"}}},
                   answers({"memory"}, {"memoryKind"}),
                   answers({"pool_type"}, {"poolType"}),
                   answers({"source"}, {"source"})});
}

Columns allocations() {
  return together(
      {allocation(),
       same({"bytes", "is_async", "context_id", "stream_id", "pool_size", "correlation_id"}),
       answers({"operation"}, {"memoryOperationType"}),
       answers({"pool_address"}, {"poolType", "poolAddress"}),
       answers({"pool_utilized_size"}, {"poolType", "poolUtilizedSize"}),
       answers({"variable"}, {"name"})});
}

Columns memory_timeline() {
  return together({allocation(),
                   {{"in_use", number, {"MEMORY_USE.inUse"}},
                    {"operation_id", number, {"_id_"}},
                    {"t_ms", run_ms, {"timestamp"}}},
                   answers({"change"}, {"memoryOperationType", "bytes"})});
}

Columns gpu_activities(const schema::GpuKind& work) {
  std::vector<std::string> named_by;
  if (!work.named_by.empty()) named_by.emplace_back(work.named_by);
  return together({times(std::string(work.end)),
                   whose(),
                   {{"bytes", number, {std::string(work.bytes)}}},
                   answers({"type"}, {}),
                   answers({"name"}, named_by)});
}

}  // namespace

std::vector<ViewTable> tables_of_view(std::string_view view) {
  const std::string kind = "CUPTI_ACTIVITY_KIND_";
  std::vector<ViewTable> tables;
  if (same_name(view, "gpu_activities")) {
    for (const schema::GpuKind& work : schema::gpu_kinds) {
      if (!work.stays_empty)
        tables.push_back({kind + std::string(work.kind), gpu_activities(work)});
    }
  } else if (same_name(view, "api_calls")) {
    for (const schema::ApiKind& calls : schema::api_kinds) {
      tables.push_back({kind + std::string(calls.kind), api_calls()});
    }
  } else if (same_name(view, "kernels")) {
    tables = {{kind + "CONCURRENT_KERNEL", kernels()}, {kind + "KERNEL", kernels()}};
  } else if (same_name(view, "memcpys")) {
    tables = {{kind + "MEMCPY", memcpys()}, {kind + "MEMCPY2", memcpys()}};
  } else if (same_name(view, "memsets")) {
    tables = {{kind + "MEMSET", memsets()}};
  } else if (same_name(view, "nvtx_ranges")) {
    tables = {{"NVTX_RANGE", nvtx_ranges()}};
  } else if (same_name(view, "synchronizations")) {
    tables = {{kind + "SYNCHRONIZATION", synchronizations()}};
  } else if (same_name(view, "allocations")) {
    tables = {{kind + "MEMORY2", allocations()}};
  } else if (same_name(view, "memory_timeline")) {
    tables = {{kind + "MEMORY2", memory_timeline()}};
  }
  return tables;
}

}  // namespace gpuprof::c_api
