// Payloads about metrics: what is written is read, what does not add up is refused.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "libprof/wire/limits.hpp"
#include "libprof/wire/measures.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using namespace gpuprof::wire;
using gpuprof::test::payload_of;

namespace {

MeasuredRange kernel_range() {
  return {.ordinal = std::uint64_t{1} << 40,
          .start = -1,
          .end = std::numeric_limits<std::int64_t>::max(),
          .correlation = 0xffffffff,
          .name = 1,
          .stream = 7,
          .grid = {1, 2, 3},
          .block = {4, 5, 6},
          .kind = RangeKind::graph,
          .wanted = 0,
          .note = 2};
}

MetricsInfo metrics_info() {
  MetricsInfo info;
  info.metrics = {{.name = "achieved_occupancy",
                   .unit = "%",
                   .description = "a, b",
                   .formula = "a / b",
                   .nvprof_id = 2002,
                   .nvprof_kind = 1,
                   .is_event = false},
                  {.name = "elapsed_cycles_sm",
                   .unit = "",
                   .description = "",
                   .formula = "",
                   .nvprof_id = 9,
                   .nvprof_kind = 2,
                   .is_event = true}};
  info.groups = {{.id = 3,
                  .chip = "GH100",
                  .mode = "multiplex",
                  .scope = "gemm",
                  .cost_class = "SM",
                  .passes = 2,
                  .expected_us = 780.5,
                  .metrics = {1, 2},
                  .counters = {"sm__cycles_active.sum", ""}}};
  return info;
}

CounterData counter_data(std::span<const std::byte> image) {
  CounterData data;
  data.group = 3;
  data.context = 1;
  data.context_number = 4;
  data.device = 2;
  data.dropped = std::uint64_t{1} << 33;
  data.ranges = {kernel_range()};
  data.names = {"_Z3addPf"};
  data.notes = {"a", "b"};
  data.image = image;
  return data;
}

// Up to its ranges.
Encoder head_of_counter_data() {
  Encoder encoder;
  for (int i = 0; i < 4; ++i) encoder.integer(std::uint32_t{1});
  encoder.integer(std::uint64_t{0});
  return encoder;
}

// However many bytes of the payload are there, it is refused or read, and never read past its end.
template <class Decode>
void refuses_parts(const std::vector<std::byte>& bytes, Decode decode) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> part(bytes.begin(),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(length));
    INFO(length);
    CHECK_FALSE(decode(std::span<const std::byte>(part)).has_value());
  }
}

}  // namespace

TEST_CASE("metrics and groups are read as they were written") {
  const auto bytes = payload_of(metrics_info());
  const auto info = decode_metrics(bytes);
  REQUIRE(info);
  REQUIRE(info->metrics.size() == 2);
  CHECK(info->metrics[0].name == "achieved_occupancy");
  CHECK(info->metrics[0].unit == "%");
  CHECK(info->metrics[0].description == "a, b");
  CHECK(info->metrics[0].formula == "a / b");
  CHECK(info->metrics[0].nvprof_id == 2002);
  CHECK(info->metrics[0].nvprof_kind == 1);
  CHECK_FALSE(info->metrics[0].is_event);
  CHECK(info->metrics[1].is_event);
  REQUIRE(info->groups.size() == 1);
  const GroupInfo& group = info->groups[0];
  CHECK(group.id == 3);
  CHECK(group.chip == "GH100");
  CHECK(group.mode == "multiplex");
  CHECK(group.scope == "gemm");
  CHECK(group.cost_class == "SM");
  CHECK(group.passes == 2);
  CHECK(group.expected_us == 780.5);
  CHECK(group.metrics == std::vector<std::uint32_t>{1, 2});
  CHECK(group.counters == std::vector<std::string>{"sm__cycles_active.sum", ""});
  CHECK(payload_of(*info) == bytes);
  refuses_parts(bytes, decode_metrics);
}

TEST_CASE("a group of metrics that are not there is refused") {
  for (const std::uint32_t metric : {0u, 3u}) {
    MetricsInfo info = metrics_info();
    info.groups[0].metrics = {metric};
    CHECK_FALSE(decode_metrics(payload_of(info)));
  }
}

TEST_CASE("counter data that does not add up is refused") {
  const auto accepts = [](const auto& change) {
    CounterData data = counter_data({});
    data.ranges[0].note = 1;
    change(data);
    return decode_counter_data(payload_of(data)).has_value();
  };
  CHECK(accepts([](CounterData&) {}));
  CHECK_FALSE(accepts([](CounterData& data) { data.names.clear(); }));
  CHECK_FALSE(accepts([](CounterData& data) { data.notes.clear(); }));
  CHECK_FALSE(accepts([](CounterData& data) { data.ranges[0].kind = static_cast<RangeKind>(3); }));
  // Where ranges ran.
  CHECK(accepts([](CounterData& data) {
    data.partitions = {{2, {1, 2, 3}}};
    data.ran_on = {1};
  }));
  CHECK_FALSE(accepts([](CounterData& data) { data.ran_on = {1}; }));
  CHECK_FALSE(accepts([](CounterData& data) { data.ran_on = {0, 0}; }));
  CHECK_FALSE(accepts([](CounterData& data) {
    data.partitions = {{2, {}}};
    data.ran_on = {1};
  }));
}

TEST_CASE("counter data keeps what its ranges ran on") {
  CounterData written = counter_data({});
  written.partitions = {{2, {1, 2, 3}}, {3, {4}}};
  written.ran_on = {2};
  const auto data = decode_counter_data(payload_of(written));
  REQUIRE(data);
  CHECK(data->ran_on == std::vector<std::uint32_t>{2});
  REQUIRE(data->partitions.size() == 2);
  CHECK(data->partitions[1].context == 3);
  CHECK(data->partitions[0].info == std::vector<std::uint8_t>{1, 2, 3});
  CHECK(payload_of(*data) == payload_of(written));
}

TEST_CASE("counter data keeps its image") {
  const std::vector<std::byte> image(1000, std::byte{0x5a});
  const auto bytes = payload_of(counter_data(image));
  const auto data = decode_counter_data(bytes);
  REQUIRE(data);
  CHECK(data->context_number == 4);
  CHECK(data->dropped == std::uint64_t{1} << 33);
  CHECK(data->ranges.size() == 1);
  CHECK(data->notes == std::vector<std::string>{"a", "b"});
  CHECK(std::vector<std::byte>(data->image.begin(), data->image.end()) == image);
  CHECK(payload_of(*data) == bytes);
  refuses_parts(bytes, decode_counter_data);
  CHECK(decode_counter_data(payload_of(counter_data({})))->image.empty());
}

TEST_CASE("lists that claim to be longer than the payload are refused") {
  Encoder encoder = head_of_counter_data();
  encoder.integer(std::uint32_t{0xffffffff});
  CHECK_FALSE(decode_counter_data(encoder.bytes()));
  Encoder metrics;
  metrics.integer(std::uint32_t{0xffffffff});
  CHECK_FALSE(decode_metrics(metrics.bytes()));
}

TEST_CASE("texts are no more than there are ranges and reasons") {
  const auto values = [](std::uint32_t names) {
    Encoder encoder = head_of_counter_data();
    encoder.integer(std::uint32_t{2}).raw(std::vector<std::byte>(2 * sizeof(MeasuredRange)));
    encoder.integer(names).raw(std::vector<std::byte>(4 * names));
    return decode_counter_data(encoder.integer(std::uint32_t{0}).integer(std::uint64_t{0}).bytes())
        .has_value();
  };
  CHECK(values(max_texts + 2));
  CHECK_FALSE(values(max_texts + 3));
}
