#include "libprof/wire/measures.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {
namespace {

// A list of values stored as their bytes.
template <class T>
void put_values(Encoder& encoder, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  encoder.integer(static_cast<std::uint32_t>(values.size()));
  encoder.raw(std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> take_values(Decoder& decoder) {
  const std::size_t count = decoder.integer<std::uint32_t>();
  const auto bytes = decoder.raw(count * sizeof(T));
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void put_texts(Encoder& encoder, const std::vector<std::string>& texts) {
  encoder.integer(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) encoder.text(text);
}

std::vector<std::string> take_texts(Decoder& decoder, std::size_t ranges = 0) {
  std::vector<std::string> texts;
  const auto most = std::min<std::size_t>(max_texts + ranges, UINT32_MAX);
  const auto count = decoder.list_length(sizeof(std::uint32_t), static_cast<std::uint32_t>(most));
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) texts.emplace_back(decoder.text());
  return texts;
}

// Whether all indices are within their lists.
bool consistent(const std::vector<MeasuredRange>& ranges, const std::vector<std::string>& names,
                const std::vector<std::string>& notes) {
  for (const MeasuredRange& range : ranges) {
    if (range.name > names.size() || range.note > notes.size() || range.kind > RangeKind::range) {
      return false;
    }
  }
  return true;
}

}  // namespace

void encode(Encoder& encoder, const CounterData& data) {
  encoder.integer(data.group)
      .integer(data.context)
      .integer(data.context_number)
      .integer(data.device)
      .integer(data.dropped);
  put_values(encoder, data.ranges);
  put_texts(encoder, data.names);
  put_texts(encoder, data.notes);
  encoder.integer(static_cast<std::uint64_t>(data.image.size())).raw(data.image);
}

std::optional<CounterData> decode_counter_data(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  CounterData data;
  data.group = decoder.integer<std::uint32_t>();
  data.context = decoder.integer<std::uint32_t>();
  data.context_number = decoder.integer<std::uint32_t>();
  data.device = decoder.integer<std::uint32_t>();
  data.dropped = decoder.integer<std::uint64_t>();
  data.ranges = take_values<MeasuredRange>(decoder);
  data.names = take_texts(decoder, data.ranges.size());
  data.notes = take_texts(decoder);
  data.image = decoder.raw(decoder.integer<std::uint64_t>());
  if (!decoder.ok() || !consistent(data.ranges, data.names, data.notes)) return std::nullopt;
  return data;
}

void encode(Encoder& encoder, const MetricsInfo& info) {
  encoder.integer(static_cast<std::uint32_t>(info.metrics.size()));
  for (const MetricInfo& metric : info.metrics) {
    encoder.text(metric.name)
        .text(metric.unit)
        .text(metric.description)
        .text(metric.formula)
        .integer(metric.nvprof_id)
        .integer(metric.nvprof_kind)
        .integer(static_cast<std::uint8_t>(metric.is_event));
  }
  encoder.integer(static_cast<std::uint32_t>(info.groups.size()));
  for (const GroupInfo& group : info.groups) {
    encoder.integer(group.id)
        .text(group.chip)
        .text(group.mode)
        .text(group.scope)
        .text(group.cost_class)
        .integer(group.passes)
        .integer(group.expected_us);
    put_values(encoder, group.metrics);
    put_texts(encoder, group.counters);
  }
}

std::optional<MetricsInfo> decode_metrics(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  MetricsInfo info;
  auto count = decoder.list_length(22, max_metrics);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    MetricInfo& metric = info.metrics.emplace_back();
    metric.name = decoder.text();
    metric.unit = decoder.text();
    metric.description = decoder.text();
    metric.formula = decoder.text();
    metric.nvprof_id = decoder.integer<std::uint32_t>();
    metric.nvprof_kind = decoder.integer<std::uint8_t>();
    metric.is_event = decoder.integer<std::uint8_t>() != 0;
  }
  count = decoder.list_length(40, max_metrics);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    GroupInfo& group = info.groups.emplace_back();
    group.id = decoder.integer<std::uint32_t>();
    group.chip = decoder.text();
    group.mode = decoder.text();
    group.scope = decoder.text();
    group.cost_class = decoder.text();
    group.passes = decoder.integer<std::uint32_t>();
    group.expected_us = decoder.integer<double>();
    group.metrics = take_values<std::uint32_t>(decoder);
    group.counters = take_texts(decoder);
  }
  if (!decoder.ok()) return std::nullopt;
  for (const GroupInfo& group : info.groups) {
    for (const std::uint32_t metric : group.metrics) {
      if (metric == 0 || metric > info.metrics.size()) return std::nullopt;
    }
  }
  return info;
}

void encode(Encoder& encoder, const CollectConfig& config) {
  encoder.integer(config.mode)
      .integer(config.batch)
      .integer(static_cast<std::uint8_t>(config.grows))
      .integer(config.hang_ms)
      .integer(config.overhead_permille)
      .integer(config.samples)
      .integer(static_cast<std::uint8_t>(config.list_launches))
      .integer(static_cast<std::uint8_t>(config.reset_caches))
      .integer(static_cast<std::uint8_t>(config.trace_serially))
      .text(config.images)
      .integer(static_cast<std::uint8_t>(config.names_matter))
      .integer(config.ranges);
  encoder.integer(static_cast<std::uint32_t>(config.scopes.size()));
  for (const CollectScope& scope : config.scopes) {
    put_values(encoder, scope.devices);
    encoder.integer(static_cast<std::uint8_t>(scope.contexts))
        .integer(static_cast<std::uint8_t>(scope.streams))
        .integer(static_cast<std::uint8_t>(scope.invocations))
        .integer(scope.skip)
        .integer(scope.count);
  }
  encoder.integer(static_cast<std::uint32_t>(config.groups.size()));
  for (const CollectGroup& group : config.groups) {
    encoder.integer(group.id)
        .text(group.chip)
        .integer(group.scope)
        .integer(group.pass)
        .integer(group.passes)
        .integer(group.launch_us)
        .integer(group.switch_us)
        .integer(static_cast<std::uint8_t>(group.patched));
    put_texts(encoder, group.counters);
    put_values(encoder, group.config_image);
  }
}

std::string packed(const CollectConfig& config) {
  Encoder encoder;
  encode(encoder, config);
  const auto bytes = encoder.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<CollectConfig> decode_collect_config(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  CollectConfig config;
  config.mode = decoder.integer<ReplayMode>();
  config.batch = decoder.integer<std::uint32_t>();
  config.grows = decoder.integer<std::uint8_t>() != 0;
  config.hang_ms = decoder.integer<std::uint32_t>();
  config.overhead_permille = decoder.integer<std::uint32_t>();
  config.samples = decoder.integer<std::uint32_t>();
  config.list_launches = decoder.integer<std::uint8_t>() != 0;
  config.reset_caches = decoder.integer<std::uint8_t>() != 0;
  config.trace_serially = decoder.integer<std::uint8_t>() != 0;
  config.images = decoder.text();
  config.names_matter = decoder.integer<std::uint8_t>() != 0;
  config.ranges = decoder.integer<NvtxRanges>();
  auto count = decoder.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    CollectScope& scope = config.scopes.emplace_back();
    scope.devices = take_values<std::uint32_t>(decoder);
    scope.contexts = decoder.integer<std::uint8_t>() != 0;
    scope.streams = decoder.integer<std::uint8_t>() != 0;
    scope.invocations = decoder.integer<std::uint8_t>() != 0;
    scope.skip = decoder.integer<std::uint64_t>();
    scope.count = decoder.integer<std::uint64_t>();
  }
  count = decoder.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    CollectGroup& group = config.groups.emplace_back();
    group.id = decoder.integer<std::uint32_t>();
    group.chip = decoder.text();
    group.scope = decoder.integer<std::uint32_t>();
    group.pass = decoder.integer<std::uint32_t>();
    group.passes = decoder.integer<std::uint32_t>();
    group.launch_us = decoder.integer<double>();
    group.switch_us = decoder.integer<double>();
    group.patched = decoder.integer<std::uint8_t>() != 0;
    group.counters = take_texts(decoder);
    group.config_image = take_values<std::uint8_t>(decoder);
  }
  if (!decoder.ok() || config.mode > ReplayMode::range || config.ranges > NvtxRanges::some ||
      config.batch == 0)
    return std::nullopt;
  for (const CollectGroup& group : config.groups) {
    if (group.scope >= config.scopes.size()) return std::nullopt;
  }
  return config;
}

}  // namespace gpuprof::wire
