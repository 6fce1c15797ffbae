// Payloads of PC samples: what is written is read, what does not add up is refused.
#include <catch2/catch.hpp>

#include "libprof/wire/limits.hpp"
#include "libprof/wire/pc_samples.hpp"

using namespace gpuprof::wire;

namespace {

template <class Payload>
std::vector<std::byte> bytes_of(const Payload& payload) {
  Encoder encoder;
  encode(encoder, payload);
  return encoder.take();
}

PcSamples some() {
  return {.context = 1,
          .device = 2,
          .total = std::uint64_t{1} << 40,
          .dropped = 3,
          .others = 4,
          .overflow = true,
          .functions = {{.cubin = 0xffffffffffffffff, .name = "f"}, {.cubin = 0, .name = ""}},
          .places = {{.function = 2, .correlation = 9, .offset = 16, .first = 0, .counts = 2},
                     {.function = 1, .correlation = 0, .offset = 0, .first = 2, .counts = 0}},
          .counts = {{.reason = 7, .samples = 8}, {.reason = 0xffffffff, .samples = 1}}};
}

}  // namespace

TEST_CASE("PC samples arrive as they were sent") {
  const auto read = decode_pc_samples(bytes_of(some()));
  REQUIRE(read);
  CHECK(bytes_of(*read) == bytes_of(some()));
  CHECK(read->places[0].function == 2);
  CHECK(read->counts[1].reason == 0xffffffff);

  const PcSampling sampling{.context = 1,
                            .device = 2,
                            .period = 4096,
                            .serialized = true,
                            .reasons = {{.index = 3, .name = "a"}, {.index = 3, .name = ""}}};
  const auto sampled = decode_pc_sampling(bytes_of(sampling));
  REQUIRE(sampled);
  CHECK(bytes_of(*sampled) == bytes_of(sampling));
  CHECK(sampled->serialized);
}

TEST_CASE("PC samples that do not add up are refused") {
  const auto whole = bytes_of(some());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(decode_pc_samples(std::span(whole).first(size)));
  }
  for (const std::uint32_t function : {0u, 3u, 0xffffffffu}) {
    PcSamples samples = some();
    samples.places[0].function = function;
    CHECK_FALSE(decode_pc_samples(bytes_of(samples)));
  }
  PcSampling sampling{};
  sampling.reasons = {{.index = 1, .name = std::string(max_name + 1, 'x')}};
  CHECK_FALSE(decode_pc_sampling(bytes_of(sampling)));
  sampling.reasons.assign(max_stall_reasons + 1, {});
  CHECK_FALSE(decode_pc_sampling(bytes_of(sampling)));
}
