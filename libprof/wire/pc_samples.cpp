#include "libprof/wire/pc_samples.hpp"

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {

void encode(Encoder& encoder, const PcSampling& sampling) {
  encoder.integer(sampling.context)
      .integer(sampling.device)
      .integer(sampling.period)
      .integer(static_cast<std::uint8_t>(sampling.serialized))
      .integer(static_cast<std::uint32_t>(sampling.reasons.size()));
  for (const StallReason& reason : sampling.reasons) {
    encoder.integer(reason.index).text(reason.name);
  }
}

std::optional<PcSampling> decode_pc_sampling(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  PcSampling sampling;
  sampling.context = decoder.integer<std::uint32_t>();
  sampling.device = decoder.integer<std::uint32_t>();
  sampling.period = decoder.integer<std::uint64_t>();
  sampling.serialized = decoder.integer<std::uint8_t>() != 0;
  const auto count = decoder.list_length(2 * sizeof(std::uint32_t), max_stall_reasons);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    StallReason& reason = sampling.reasons.emplace_back();
    reason.index = decoder.integer<std::uint32_t>();
    reason.name = decoder.text();
    if (reason.name.size() > max_name) decoder.fail();
  }
  if (!decoder.ok()) return std::nullopt;
  return sampling;
}

void encode(Encoder& encoder, const PcSamples& samples) {
  encoder.integer(samples.context)
      .integer(samples.device)
      .integer(samples.total)
      .integer(samples.dropped)
      .integer(samples.others)
      .integer(static_cast<std::uint8_t>(samples.overflow));
  encode(encoder, samples.functions);
  encoder.integer(static_cast<std::uint32_t>(samples.places.size()));
  for (const PcPlace& place : samples.places) {
    encoder.integer(place.function)
        .integer(place.correlation)
        .integer(place.offset)
        .integer(place.counts);
    for (std::uint32_t i = 0; i < place.counts; ++i) {
      const PcCount& count = samples.counts[place.first + i];
      encoder.integer(count.reason).integer(count.samples);
    }
  }
}

std::optional<PcSamples> decode_pc_samples(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  PcSamples samples;
  samples.context = decoder.integer<std::uint32_t>();
  samples.device = decoder.integer<std::uint32_t>();
  samples.total = decoder.integer<std::uint64_t>();
  samples.dropped = decoder.integer<std::uint64_t>();
  samples.others = decoder.integer<std::uint64_t>();
  samples.overflow = decoder.integer<std::uint8_t>() != 0;
  samples.functions = decode_functions(decoder);
  const auto places =
      decoder.list_length(3 * sizeof(std::uint32_t) + sizeof(std::uint64_t), max_code_places);
  for (std::uint32_t i = 0; i < places && decoder.ok(); ++i) {
    PcPlace& place = samples.places.emplace_back();
    place.function = decoder.integer<std::uint32_t>();
    place.correlation = decoder.integer<std::uint32_t>();
    place.offset = decoder.integer<std::uint64_t>();
    place.counts = decoder.list_length(2 * sizeof(std::uint32_t), max_stall_reasons);
    place.first = static_cast<std::uint32_t>(samples.counts.size());
    if (place.function == 0 || place.function > samples.functions.size()) decoder.fail();
    for (std::uint32_t j = 0; j < place.counts && decoder.ok(); ++j) {
      PcCount& count = samples.counts.emplace_back();
      count.reason = decoder.integer<std::uint32_t>();
      count.samples = decoder.integer<std::uint32_t>();
    }
  }
  if (!decoder.ok()) return std::nullopt;
  return samples;
}

}  // namespace gpuprof::wire
