#include "libprof/compute/timeline/records.hpp"

#include <iterator>

#include "libprof/base/text.hpp"
#include "schema/traits.hpp"

namespace gpuprof::timeline {
namespace {

constexpr std::string_view kind_names[] = {"stream", "range_on_gpu",    "counter", "range",
                                           "api",    "synchronization", "overhead"};

std::string table_of(std::string_view kind) { return "CUPTI_ACTIVITY_KIND_" + std::string(kind); }

}  // namespace

std::string_view name_of(TrackKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

bool read_kind(std::string_view name, TrackKind& kind) {
  for (std::size_t i = 0; i < std::size(kind_names); ++i) {
    if (kind_names[i] != name) continue;
    kind = static_cast<TrackKind>(i);
    return true;
  }
  return false;
}

std::vector<std::string> columns_of(const RecordTable& table) {
  std::vector<std::string> columns{table.begin, table.end, table.id};
  columns.insert(columns.end(), table.key.begin(), table.key.end());
  if (!table.named_by.empty()) columns.push_back(table.named_by);
  return columns;
}

std::string select(const RecordTable& table, std::int64_t open_until) {
  std::vector<std::string> columns = columns_of(table);
  if (table.may_be_open) {
    columns[1] =
        "coalesce(" + table.end + ", max(" + table.begin + ", " + std::to_string(open_until) + "))";
  }
  return "SELECT " + joined(columns, ", ") + " FROM " +
         (table.from.empty() ? "main." + table.name : table.from);
}

std::vector<RecordTable> record_tables(store::Database& database) {
  std::vector<RecordTable> tables;
  const auto add = [&](RecordTable table) {
    if (database.has_table(table.name)) tables.push_back(std::move(table));
  };
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    add({.kind = TrackKind::stream,
         .name = table_of(kind.kind),
         .end = std::string(kind.end),
         .named_by = std::string(kind.named_by),
         .key = {"deviceId", "processId", "contextId", "streamId"},
         .computes = kind.is_kernel() || kind.type == "graph"});
  }
  const bool has_ranges = database.has_column("NVTX_RANGE", "stop");
  if (has_ranges && database.has_column("RANGE_TIME", "first")) {
    add({.kind = TrackKind::range_on_gpu,
         .name = "NVTX_RANGE",
         .from = "main.RANGE_TIME AS t JOIN main.NVTX_RANGE AS r ON r._id_ = t.range",
         .begin = "t.first",
         .end = "t.last",
         .id = "r._id_",
         .named_by = "r.name",
         .key = {"t.deviceId", "r.processId", "r.threadId"}});
  }
  for (const schema::ApiKind& calls : schema::api_kinds) {
    add({.kind = TrackKind::api,
         .name = table_of(calls.kind),
         .named_by = "cbid",
         .key = {"processId", "threadId"}});
  }
  add({.kind = TrackKind::synchronization,
       .name = table_of("SYNCHRONIZATION"),
       .named_by = "type",
       .key = {"processId"}});
  add({.kind = TrackKind::overhead,
       .name = table_of("OVERHEAD"),
       .named_by = "overheadKind",
       .key = {"processId", "threadId"}});
  if (has_ranges) {
    add({.kind = TrackKind::range,
         .name = "NVTX_RANGE",
         .end = "stop",
         .named_by = "name",
         .key = {"processId", "threadId", "domain"},
         .may_be_open = true});
  }
  return tables;
}

}  // namespace gpuprof::timeline
