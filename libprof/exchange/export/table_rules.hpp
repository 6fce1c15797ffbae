// What is known about a profile's tables by name: which hold records, and what belongs to them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

inline constexpr std::string_view marker_table = "CUPTI_ACTIVITY_KIND_MARKER";
inline constexpr std::string_view metric_range_table = "METRIC_RANGE";
inline constexpr std::string_view metric_value_table = "METRIC_VALUE";  // of those ranges
inline constexpr std::string_view pm_sample_table = "PM_SAMPLE";
inline constexpr std::string_view pm_gap_table = "PM_GAP";

// For kinds, without "CUPTI_ACTIVITY_KIND_", case-insensitive.
bool is_gpu_kind(std::string_view kind);
bool is_api_kind(std::string_view kind);

// For tables.
bool is_computed_from_markers(std::string_view table);
// nvprof's tables of what the host's threads were doing.
bool is_cpu_sampling(std::string_view table);
// The topology, and what records in other tables refer to.
bool is_always_kept(std::string_view table);
// Whether --keep applies.
bool holds_records(std::string_view table);

// The tables named by the words, case-insensitive: --trace groups (gpu), kinds (memcpy: MEMCPY and
// MEMCPY2; concurrent-kernel), tables (CUPTI_ACTIVITY_KIND_MEMCPY), cpu-sampling. Throws
// gpuprof::Error for a word that names no table of the file.
std::set<std::string> tables_named(const std::vector<std::string>& words, store::Database& file);

}  // namespace gpuprof::exporting
