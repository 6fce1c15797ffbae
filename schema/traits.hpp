// Lists derived from the traits of activity kinds: GPU work, CUDA API calls, and what a run's times
// count from. Code that shows or filters records uses them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "schema/activity/all.hpp"
#include "schema/gpu_kind.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

// A run's times count from the earliest of these.
struct FirstTime {
  std::string_view kind;  // without "CUPTI_ACTIVITY_KIND_"
  std::string_view column;
};

namespace detail {

// Calls visit(table) for each table of an activity kind, in the order of the tuples after the
// blocks; tables that stay empty come last.
template <class Visit>
constexpr void for_each_kind_table(Visit&& visit) {
  for_each_kind([&]<class K>() { visit(K::table); });
  for (const Table& table : legacy::tables) {
    if (table.kind != 0) visit(table);
  }
}

constexpr std::string_view kind_of(const Table& table) {
  return table.name.substr(std::string_view("CUPTI_ACTIVITY_KIND_").size());
}

// The results of `make` for the kinds for which `has` is true.
template <class Kind, auto has, auto make>
constexpr auto list() {
  constexpr std::size_t count = [] {
    std::size_t found = 0;
    for_each_kind_table([&](const Table& table) { found += has(table) ? 1 : 0; });
    return found;
  }();
  std::array<Kind, count> all{};
  std::size_t at = 0;
  for_each_kind_table([&](const Table& table) {
    if (has(table)) all[at++] = make(table);
  });
  return all;
}

}  // namespace detail

inline constexpr auto gpu_kinds =
    detail::list<GpuKind, [](const Table& table) { return table.traits.gpu_work.has_value(); },
                 [](const Table& table) {
                   return GpuKind{*table.traits.gpu_work,
                                  detail::kind_of(table),
                                  has_column(table, "end") ? "end" : "stop",
                                  table.traits.nvprofs,
                                  table.origin == Origin::legacy,
                                  &table};
                 }>();

inline constexpr auto api_kinds =
    detail::list<ApiKind, [](const Table& table) { return !table.traits.api.empty(); },
                 [](const Table& table) {
                   return ApiKind{detail::kind_of(table), table.traits.api, table.traits.nvprofs};
                 }>();

inline constexpr auto first_times = detail::list<
    FirstTime, [](const Table& table) { return table.traits.nvprofs; },
    [](const Table& table) {
      return FirstTime{detail::kind_of(table), has_column(table, "start") ? "start" : "timestamp"};
    }>();

// nullptr if it is not GPU work.
constexpr const GpuKind* gpu_kind(std::string_view kind) {
  for (const GpuKind& each : gpu_kinds) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

constexpr bool is_gpu_kind(std::string_view kind) { return gpu_kind(kind) != nullptr; }

constexpr bool is_kernel_kind(std::string_view kind) {
  const GpuKind* found = gpu_kind(kind);
  return found && found->is_kernel();
}

// Whether a kernel exchanges data with other GPUs and waits for theirs: NCCL's kernels, by
// demangled name.
constexpr bool is_communication_kernel(std::string_view name) { return name.starts_with("nccl"); }

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
