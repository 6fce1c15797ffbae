// The ids under which nvprof stores metric and event values, and their meanings.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "schema/metric_kind.hpp"

namespace gpuprof::schema {

struct NvprofMetric {
  MetricKind kind;
  std::string_view name;
  std::string_view description;
};

struct NvprofMetricId {
  std::int32_t id;
  std::int32_t metric;  // index in nvprof_metrics
};

struct NvprofEventId {
  std::int32_t id;
  std::string_view name;
};

#include "schema/nvprof_ids.inc"

// Null if the id is not a metric or event of nvprof 11.8.
constexpr const NvprofMetric* nvprof_metric(std::int64_t id) {
  const auto* place = std::ranges::lower_bound(nvprof_metric_ids, id, {}, &NvprofMetricId::id);
  if (place == std::end(nvprof_metric_ids) || place->id != id) return nullptr;
  return &nvprof_metrics[place->metric];
}

constexpr std::optional<std::string_view> nvprof_event(std::int64_t id) {
  const auto* place = std::ranges::lower_bound(nvprof_event_ids, id, {}, &NvprofEventId::id);
  if (place == std::end(nvprof_event_ids) || place->id != id) return std::nullopt;
  return place->name;
}

// The id to write for a name. A name has one per chip generation; the highest is the newest.
// nullopt if nvprof 11.8 stores no metric of this name.
constexpr std::optional<std::int32_t> nvprof_metric_id(std::string_view name) {
  std::optional<std::int32_t> id;
  for (const NvprofMetricId& entry : nvprof_metric_ids) {
    if (nvprof_metrics[entry.metric].name == name) id = entry.id;
  }
  return id;
}

constexpr std::optional<std::int32_t> nvprof_event_id(std::string_view name) {
  std::optional<std::int32_t> id;
  for (const NvprofEventId& entry : nvprof_event_ids) {
    if (entry.name == name) id = entry.id;
  }
  return id;
}

// The 8 bytes in which nvprof stores a metric's value; nullopt if it is not finite and cannot be
// stored.
inline std::optional<std::uint64_t> nvprof_bits(MetricKind kind, double value) {
  if (!std::isfinite(value)) return {};
  const auto rounded = [](double number) {
    return static_cast<std::uint64_t>(std::llround(number));
  };
  switch (kind) {
    case MetricKind::count:
    case MetricKind::throughput: return rounded(std::clamp(value, 0.0, 9e18));
    case MetricKind::utilization: return rounded(std::clamp(value, 0.0, 10.0));
    case MetricKind::unknown:
    case MetricKind::real:
    case MetricKind::percent: break;
  }
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace gpuprof::schema
