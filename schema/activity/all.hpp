// Every activity kind this build knows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "schema/activity/api.hpp"
#include "schema/activity/code.hpp"
#include "schema/activity/directives.hpp"
#include "schema/activity/gpu_work.hpp"
#include "schema/activity/host.hpp"
#include "schema/activity/markers.hpp"
#include "schema/activity/memory.hpp"
#include "schema/activity/topology.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

using Kinds = decltype(std::tuple_cat(std::declval<GpuWorkKinds>(), std::declval<ApiKinds>(),
                                      std::declval<HostKinds>(), std::declval<MemoryKinds>(),
                                      std::declval<MarkerKinds>(), std::declval<TopologyKinds>(),
                                      std::declval<CodeKinds>(), std::declval<DirectiveKinds>()));

inline constexpr std::size_t kind_count = std::tuple_size_v<Kinds>;

// Calls f.template operator()<K>() for each kind, in the order of the tuples.
template <class F>
constexpr void for_each_kind(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f.template operator()<std::tuple_element_t<I, Kinds>>(), ...);
  }(std::make_index_sequence<kind_count>{});
}

// A kind without its static type.
struct KindRef {
  const KindInfo* info;
  const Table* table;
};

// All kinds by CUPTI's number, which is also nvprof's order of tables.
inline constexpr std::array<KindRef, kind_count> kinds = [] {
  std::array<KindRef, kind_count> all{};
  std::size_t count = 0;
  for_each_kind([&]<class K>() { all[count++] = {&K::info, &K::table}; });
  std::sort(all.begin(), all.end(),
            [](const KindRef& a, const KindRef& b) { return a.info->id < b.info->id; });
  return all;
}();

// nullptr if this build does not know the kind.
constexpr const KindRef* find_kind(int id) {
  for (const KindRef& kind : kinds) {
    if (kind.info->id == id) return &kind;
  }
  return nullptr;
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
