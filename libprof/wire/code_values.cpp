#include "libprof/wire/code_values.hpp"

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {

template <class Coder>
static void describe(Coder& coder, Coded<Coder, CodeCounters>& counters) {
  const bool sampled = counters.kind == CodeKind::pc_samples;
  coder.all(counters.context, counters.device);
  if (sampled) coder.all(counters.period, counters.serialized);
  coder.list(counters.counters, max_code_counters, [&](auto& counter) {
    if (sampled) coder.all(counter.index);
    coder.all(counter.name);
    if (!sampled) coder.all(counter.description);
  });
}

template <class Coder>
static void describe(Coder& coder, Coded<Coder, CodeValues>& values) {
  const bool sampled = values.kind == CodeKind::pc_samples;
  coder.all(values.context);
  if (sampled) {
    coder.all(values.device, values.total, values.dropped, values.others, values.overflow);
  } else {
    coder.all(values.correlation);
  }
  coder.list(values.functions, max_code_places,
             [&](auto& function) { coder.all(function.cubin, function.name); });
  coder.list(values.places, max_code_places, [&](auto& place) {
    coder.all(place.function);
    if (sampled) coder.all(place.correlation);
    coder.all(place.offset);
    coder.list(place.values, max_code_counters, [&](auto& value) {
      coder.all(value.counter);
      sampled ? coder.template as<std::uint32_t>(value.value) : coder.all(value.value);
    });
  });
}

void PlaceList::add(std::uint64_t cubin, const char* function, CodePlace place) {
  if (place.values.empty()) return;
  const std::string_view name = function ? function : "";
  const auto [number, fresh] = functions_.try_emplace({cubin, name}, 0);
  if (fresh) {
    to_.functions.push_back({cubin, std::string(name)});
    number->second = static_cast<std::uint32_t>(to_.functions.size());
  }
  place.function = number->second;
  to_.places.push_back(std::move(place));
}

void encode(Encoder& encoder, const CodeCounters& counters) { describe(encoder, counters); }

void encode(Encoder& encoder, const CodeValues& values) { describe(encoder, values); }

std::optional<CodeCounters> decode_code_counters(CodeKind kind,
                                                 std::span<const std::byte> payload) {
  auto counters = decoded<CodeCounters>(payload, {.kind = kind});
  if (!counters) return std::nullopt;
  std::uint32_t position = 0;
  for (CodeCounter& counter : counters->counters) {
    if (counter.name.size() > max_name) return std::nullopt;
    if (kind == CodeKind::sass_metrics) counter.index = ++position;
  }
  return counters;
}

std::optional<CodeValues> decode_code_values(CodeKind kind, std::span<const std::byte> payload) {
  auto values = decoded<CodeValues>(payload, {.kind = kind});
  if (!values) return std::nullopt;
  for (CodePlace& place : values->places) {
    if (place.function == 0 || place.function > values->functions.size()) return std::nullopt;
    if (kind == CodeKind::sass_metrics) place.correlation = values->correlation;
  }
  return values;
}

}  // namespace gpuprof::wire
