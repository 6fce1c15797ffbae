// Payloads of SASS metrics: what is written is read, what does not add up is refused.
#include <catch2/catch.hpp>

#include "libprof/wire/limits.hpp"
#include "libprof/wire/sass_metrics.hpp"

using namespace gpuprof::wire;

namespace {

template <class Payload>
std::vector<std::byte> bytes_of(const Payload& payload) {
  Encoder encoder;
  encode(encoder, payload);
  return encoder.take();
}

SassValues some() {
  return {.context = 1,
          .correlation = 9,
          .functions = {{.cubin = 0xffffffffffffffff, .name = "f"}, {.cubin = 0, .name = ""}},
          .places = {{.function = 2, .offset = 16, .first = 0, .count = 2},
                     {.function = 1, .offset = 0, .first = 2, .count = 0}},
          .values = {{.metric = 7, .value = std::uint64_t{1} << 40}, {.metric = 0, .value = 1}}};
}

}  // namespace

TEST_CASE("SASS metrics arrive as they were sent") {
  const auto read = decode_sass_values(bytes_of(some()));
  REQUIRE(read);
  CHECK(bytes_of(*read) == bytes_of(some()));
  CHECK(read->correlation == 9);
  CHECK(read->places[0].function == 2);
  CHECK(read->values[0].value == std::uint64_t{1} << 40);

  const SassMetrics metrics{.context = 1, .device = 2, .metrics = {{"a", "counts a"}, {"", ""}}};
  const auto named = decode_sass_metrics(bytes_of(metrics));
  REQUIRE(named);
  CHECK(bytes_of(*named) == bytes_of(metrics));
  CHECK(named->metrics[0].description == "counts a");
}

TEST_CASE("SASS metrics that do not add up are refused") {
  const auto whole = bytes_of(some());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(decode_sass_values(std::span(whole).first(size)));
  }
  for (const std::uint32_t function : {0u, 3u, 0xffffffffu}) {
    SassValues values = some();
    values.places[0].function = function;
    CHECK_FALSE(decode_sass_values(bytes_of(values)));
  }
  SassMetrics metrics{};
  metrics.metrics = {{std::string(max_name + 1, 'x'), ""}};
  CHECK_FALSE(decode_sass_metrics(bytes_of(metrics)));
  metrics.metrics.assign(max_sass_metrics + 1, {});
  CHECK_FALSE(decode_sass_metrics(bytes_of(metrics)));
}
