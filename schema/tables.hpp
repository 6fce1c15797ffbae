// Every table of a gpuprof file: activity kinds, nvprof's, and our own. This list determines what
// is created, documented, copied into excerpts and omitted from anonymized files. To add a table,
// add a block to one of the files below, and its name to the list at the end of that file or here.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "schema/activity/all.hpp"
#include "schema/derived.hpp"
#include "schema/legacy.hpp"
#include "schema/measured.hpp"
#include "schema/memory_calls.hpp"
#include "schema/nvtx.hpp"
#include "schema/pc_sampling.hpp"
#include "schema/run.hpp"
#include "schema/sampled.hpp"
#include "schema/sass_metrics.hpp"
#include "schema/timeline.hpp"
#include "schema/words.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

// In documentation order.
inline constexpr auto own_tables = joined(
    std::array{&tables::version, &tables::string_table, &tables::run, &tables::process,
               &tables::clock, &tables::statistic, &tables::diagnostic, &tables::statistic_doc,
               &tables::enum_name, &tables::api_name, &tables::table_text, &tables::column_text,
               &tables::doc_text, &tables::nvtx_range, &tables::nvtx_payload,
               &tables::nvtx_payload_entry},
    tables::derived_tables, tables::timeline_tables,
    std::array{&tables::metric, &tables::metric_group, &MetricRange::table, &MetricValue::table,
               &NvprofEventRow::table, &NvprofMetricRow::table},
    sampled_tables, std::array{&tables::pm_kernel}, collected_tables,
    std::array{&tables::pc_sampling, &tables::pc_sampling_record_info, &tables::source_locator,
               &tables::pc_stall_reason, &tables::sass_metric, &tables::sass_instruction,
               &tables::sass_value, &tables::global_access, &tables::branch,
               &tables::instruction_execution, &tables::shared_access, &tables::no_rows});

inline constexpr auto all_tables = [] {
  std::array<const Table*, kind_count + legacy::tables.size() + own_tables.size()> all{};
  std::size_t count = 0;
  for (const KindRef& kind : kinds) all[count++] = kind.table;
  for (const Table& table : legacy::tables) all[count++] = &table;
  for (const Table* table : own_tables) all[count++] = table;
  return all;
}();

// Maintained during insertion, which is cheap because rows arrive in order of correlation id.
inline constexpr std::string_view early_indexes[]{
    "CREATE INDEX IF NOT EXISTS METRIC_RANGE_BY_CORRELATION ON METRIC_RANGE(correlationId)",
};

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
