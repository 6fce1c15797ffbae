// Payloads of PC samples and SASS metrics: what is written is read, what does not add up is
// refused.
#include <catch2/catch.hpp>

#include "libprof/wire/code_values.hpp"
#include "libprof/wire/limits.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof::wire;
using gpuprof::test::payload_of;

namespace {

constexpr std::uint64_t large = std::uint64_t{1} << 40;

// Places of SASS metrics have the frame's correlation id, values of PC samples have 32 bits.
CodeValues some(CodeKind kind) {
  const bool sampled = kind == CodeKind::pc_samples;
  return {.kind = kind,
          .context = 1,
          .device = 2,
          .total = large,
          .dropped = 3,
          .others = 4,
          .overflow = true,
          .correlation = 9,
          .functions = {{.cubin = 0xffffffffffffffff, .name = "f"}, {.cubin = 0, .name = ""}},
          .places = {{.function = 2,
                      .correlation = 9,
                      .offset = 16,
                      .values = {{.counter = 7, .value = sampled ? 8 : large},
                                 {.counter = 0xffffffff, .value = 1}}},
                     {.function = 1, .correlation = sampled ? 0u : 9u, .offset = 0}}};
}

CodeCounters counters(CodeKind kind) {
  return {.kind = kind,
          .context = 1,
          .device = 2,
          .period = 4096,
          .serialized = true,
          .counters = {{.index = 3, .name = "a", .description = "counts a"},
                       {.index = 3, .name = "", .description = ""}}};
}

}  // namespace

TEST_CASE("PC samples and SASS metrics arrive as they were sent") {
  for (const CodeKind kind : {CodeKind::pc_samples, CodeKind::sass_metrics}) {
    const bool sampled = kind == CodeKind::pc_samples;
    const auto read = decode_code_values(kind, payload_of(some(kind)));
    REQUIRE(read);
    CHECK(payload_of(*read) == payload_of(some(kind)));
    CHECK(read->overflow == sampled);
    CHECK(read->places[0].function == 2);
    CHECK(read->places[0].values[1].counter == 0xffffffff);
    CHECK(read->places[0].values[0].value == (sampled ? 8 : large));
    CHECK(read->places[1].correlation == (sampled ? 0 : 9));

    const auto named = decode_code_counters(kind, payload_of(counters(kind)));
    REQUIRE(named);
    CHECK(payload_of(*named) == payload_of(counters(kind)));
    CHECK(named->serialized == sampled);
    CHECK(named->counters[0].description == (sampled ? "" : "counts a"));
    CHECK(named->counters[1].index == (sampled ? 3 : 2));
  }
}

TEST_CASE("the bytes of PC samples and SASS metrics are those of FORMAT.md") {
  CHECK(payload_of(some(CodeKind::pc_samples)).size() ==
        4 + 4 + 8 + 8 + 8 + 1 + 4 + (12 + 1) + 12 + 4 + (20 + 2 * 8) + 20);
  CHECK(payload_of(some(CodeKind::sass_metrics)).size() ==
        4 + 4 + 4 + (12 + 1) + 12 + 4 + (16 + 2 * 12) + 16);
  CHECK(payload_of(counters(CodeKind::pc_samples)).size() == 4 + 4 + 8 + 1 + 4 + (8 + 1) + 8);
  CHECK(payload_of(counters(CodeKind::sass_metrics)).size() == 4 + 4 + 4 + (8 + 1 + 8) + 8);
}

TEST_CASE("PC samples and SASS metrics that do not add up are refused") {
  for (const CodeKind kind : {CodeKind::pc_samples, CodeKind::sass_metrics}) {
    const auto whole = payload_of(some(kind));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CHECK_FALSE(decode_code_values(kind, std::span(whole).first(size)));
    }
    for (const std::uint32_t function : {0u, 3u, 0xffffffffu}) {
      CodeValues values = some(kind);
      values.places[0].function = function;
      CHECK_FALSE(decode_code_values(kind, payload_of(values)));
    }
    CodeCounters named = counters(kind);
    named.counters[0].name.assign(max_name + 1, 'x');
    CHECK_FALSE(decode_code_counters(kind, payload_of(named)));
    named.counters.assign(max_code_counters + 1, {});
    CHECK_FALSE(decode_code_counters(kind, payload_of(named)));
  }
}
