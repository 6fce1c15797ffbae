#include "libprof/wire/measures.hpp"

#include <algorithm>

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {
namespace {

// `more`: texts that are allowed in addition to the usual ones.
template <class Coder, class Texts>
void put_texts(Coder& coder, Texts& texts, std::size_t more = 0) {
  const auto most = std::min<std::size_t>(max_texts + more, UINT32_MAX);
  coder.list(texts, static_cast<std::uint32_t>(most), [&](auto& text) { coder.all(text); });
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

// All but the image.
template <class Coder>
static void describe(Coder& coder, Coded<Coder, CounterData>& data) {
  coder.all(data.group, data.context, data.context_number, data.device, data.dropped);
  coder.values(data.ranges);
  put_texts(coder, data.names, data.ranges.size());
  put_texts(coder, data.notes);
}

// After the image; earlier versions have none.
template <class Coder>
static void describe_partitions(Coder& coder, Coded<Coder, CounterData>& data) {
  coder.list(data.partitions, max_partitions, [&](auto& partition) {
    coder.all(partition.context);
    coder.values(partition.info);
  });
  coder.values(data.ran_on);
}

// Whether each range ran on a partition that is there, or on the whole device.
static bool partitioned(const CounterData& data) {
  const auto says_nothing = [](const Partition& partition) { return partition.info.empty(); };
  if (std::ranges::any_of(data.partitions, says_nothing)) return false;
  return data.ran_on.empty() || (data.ran_on.size() == data.ranges.size() &&
                                 std::ranges::all_of(data.ran_on, [&](std::uint32_t partition) {
                                   return partition <= data.partitions.size();
                                 }));
}

template <class Coder>
static void describe(Coder& coder, Coded<Coder, MetricsInfo>& info) {
  coder.list(info.metrics, max_metrics, [&](auto& metric) {
    coder.all(metric.name, metric.unit, metric.description, metric.formula, metric.nvprof_id,
              metric.nvprof_kind, metric.is_event);
  });
  coder.list(info.groups, max_metrics, [&](auto& group) {
    coder.all(group.id, group.chip, group.mode, group.scope, group.cost_class, group.passes,
              group.expected_us);
    coder.values(group.metrics);
    put_texts(coder, group.counters);
  });
}

template <class Coder>
static void describe(Coder& coder, Coded<Coder, CollectConfig>& config) {
  coder.all(config.mode, config.batch, config.grows, config.hang_ms, config.overhead_permille,
            config.samples, config.list_launches, config.reset_caches, config.trace_serially,
            config.images, config.names_matter, config.ranges);
  coder.list(config.scopes, UINT32_MAX, [&](auto& scope) {
    coder.values(scope.devices);
    coder.all(scope.contexts, scope.streams, scope.invocations, scope.skip, scope.count);
  });
  coder.list(config.groups, UINT32_MAX, [&](auto& group) {
    coder.all(group.id, group.chip, group.scope, group.pass, group.passes, group.launch_us,
              group.switch_us, group.patched);
    put_texts(coder, group.counters);
    coder.values(group.config_image);
  });
}

void encode(Encoder& encoder, const CounterData& data) {
  describe(encoder, data);
  encoder.integer(static_cast<std::uint64_t>(data.image.size())).raw(data.image);
  if (!data.ran_on.empty()) describe_partitions(encoder, data);
}

std::optional<CounterData> decode_counter_data(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  CounterData data;
  describe(decoder, data);
  data.image = decoder.raw(decoder.integer<std::uint64_t>());
  if (decoder.remaining() > 0) describe_partitions(decoder, data);
  if (!decoder.ok() || !consistent(data.ranges, data.names, data.notes) || !partitioned(data)) {
    return std::nullopt;
  }
  return data;
}

void encode(Encoder& encoder, const MetricsInfo& info) { describe(encoder, info); }

std::optional<MetricsInfo> decode_metrics(std::span<const std::byte> payload) {
  auto info = decoded<MetricsInfo>(payload);
  if (!info) return std::nullopt;
  for (const GroupInfo& group : info->groups) {
    for (const std::uint32_t metric : group.metrics) {
      if (metric == 0 || metric > info->metrics.size()) return std::nullopt;
    }
  }
  return info;
}

void encode(Encoder& encoder, const CollectConfig& config) { describe(encoder, config); }

std::string packed(const CollectConfig& config) {
  Encoder encoder;
  encode(encoder, config);
  const auto bytes = encoder.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<CollectConfig> decode_collect_config(std::span<const std::byte> payload) {
  auto config = decoded<CollectConfig>(payload);
  if (!config || config->mode > ReplayMode::range || config->ranges > NvtxRanges::some ||
      config->batch == 0) {
    return std::nullopt;
  }
  for (const CollectGroup& group : config->groups) {
    if (group.scope >= config->scopes.size()) return std::nullopt;
  }
  return config;
}

}  // namespace gpuprof::wire
