#include "libprof/wire/sass_metrics.hpp"

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {

void encode(Encoder& encoder, const SassMetrics& metrics) {
  encoder.integer(metrics.context)
      .integer(metrics.device)
      .integer(static_cast<std::uint32_t>(metrics.metrics.size()));
  for (const SassMetric& metric : metrics.metrics) {
    encoder.text(metric.name).text(metric.description);
  }
}

std::optional<SassMetrics> decode_sass_metrics(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  SassMetrics metrics;
  metrics.context = decoder.integer<std::uint32_t>();
  metrics.device = decoder.integer<std::uint32_t>();
  const auto count = decoder.list_length(2 * sizeof(std::uint32_t), max_sass_metrics);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    SassMetric& metric = metrics.metrics.emplace_back();
    metric.name = decoder.text();
    metric.description = decoder.text();
    if (metric.name.size() > max_name) decoder.fail();
  }
  if (!decoder.ok()) return std::nullopt;
  return metrics;
}

void encode(Encoder& encoder, const SassValues& values) {
  encoder.integer(values.context).integer(values.correlation);
  encode(encoder, values.functions);
  encoder.integer(static_cast<std::uint32_t>(values.places.size()));
  for (const SassPlace& place : values.places) {
    encoder.integer(place.function).integer(place.offset).integer(place.count);
    for (std::uint32_t i = 0; i < place.count; ++i) {
      const SassValue& value = values.values[place.first + i];
      encoder.integer(value.metric).integer(value.value);
    }
  }
}

std::optional<SassValues> decode_sass_values(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  SassValues values;
  values.context = decoder.integer<std::uint32_t>();
  values.correlation = decoder.integer<std::uint32_t>();
  values.functions = decode_functions(decoder);
  const auto places =
      decoder.list_length(2 * sizeof(std::uint32_t) + sizeof(std::uint64_t), max_code_places);
  for (std::uint32_t i = 0; i < places && decoder.ok(); ++i) {
    SassPlace& place = values.places.emplace_back();
    place.function = decoder.integer<std::uint32_t>();
    place.offset = decoder.integer<std::uint64_t>();
    place.count =
        decoder.list_length(sizeof(std::uint32_t) + sizeof(std::uint64_t), max_sass_metrics);
    place.first = static_cast<std::uint32_t>(values.values.size());
    if (place.function == 0 || place.function > values.functions.size()) decoder.fail();
    for (std::uint32_t j = 0; j < place.count && decoder.ok(); ++j) {
      SassValue& value = values.values.emplace_back();
      value.metric = decoder.integer<std::uint32_t>();
      value.value = decoder.integer<std::uint64_t>();
    }
  }
  if (!decoder.ok()) return std::nullopt;
  return values;
}

}  // namespace gpuprof::wire
