// Payloads about metrics: what is written is read, what does not add up is refused.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "libprof/wire/limits.hpp"
#include "libprof/wire/measures.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using namespace gpuprof::wire;

namespace {

template <class Payload>
std::vector<std::byte> bytes_of(const Payload& payload) {
  Encoder encoder;
  encode(encoder, payload);
  return encoder.take();
}

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

MetricValues metric_values() {
  MetricValues values;
  values.group = 3;
  values.context = 1;
  values.device = 2;
  values.ranges = {kernel_range(), kernel_range()};
  values.names = {"_Z3addPf"};
  values.notes = {"", "CUPTI dropped it"};
  values.metrics = {1, 2};
  values.values = {0.5, 1e300, std::numeric_limits<double>::quiet_NaN(),
                   -std::numeric_limits<double>::infinity()};
  return values;
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
  const auto bytes = bytes_of(metrics_info());
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
  CHECK(bytes_of(*info) == bytes);
  refuses_parts(bytes, decode_metrics);
}

TEST_CASE("a group of metrics that are not there is refused") {
  for (const std::uint32_t metric : {0u, 3u}) {
    MetricsInfo info = metrics_info();
    info.groups[0].metrics = {metric};
    CHECK_FALSE(decode_metrics(bytes_of(info)));
  }
}

TEST_CASE("values are read as they were written") {
  const auto bytes = bytes_of(metric_values());
  const auto values = decode_metric_values(bytes);
  REQUIRE(values);
  CHECK(values->group == 3);
  CHECK(values->context == 1);
  CHECK(values->device == 2);
  REQUIRE(values->ranges.size() == 2);
  const MeasuredRange expected = kernel_range();
  CHECK(std::memcmp(values->ranges.data(), &expected, sizeof expected) == 0);
  CHECK(values->names == metric_values().names);
  CHECK(values->notes == metric_values().notes);
  CHECK(values->metrics == metric_values().metrics);
  CHECK(values->values[1] == 1e300);
  CHECK(bytes_of(*values) == bytes);
  refuses_parts(bytes, decode_metric_values);
}

TEST_CASE("values that do not add up are refused") {
  const auto accepts = [](const auto& change) {
    MetricValues values = metric_values();
    change(values);
    return decode_metric_values(bytes_of(values)).has_value();
  };
  CHECK(accepts([](MetricValues&) {}));
  CHECK_FALSE(accepts([](MetricValues& values) { values.values.pop_back(); }));
  CHECK_FALSE(accepts([](MetricValues& values) { values.ranges.pop_back(); }));
  CHECK_FALSE(accepts([](MetricValues& values) { values.metrics.push_back(3); }));
  CHECK_FALSE(accepts([](MetricValues& values) { values.names.clear(); }));
  CHECK_FALSE(accepts([](MetricValues& values) { values.notes.pop_back(); }));
  CHECK_FALSE(
      accepts([](MetricValues& values) { values.ranges[1].kind = static_cast<RangeKind>(3); }));
}

TEST_CASE("counter data keeps its image") {
  const std::vector<std::byte> image(1000, std::byte{0x5a});
  const auto bytes = bytes_of(counter_data(image));
  const auto data = decode_counter_data(bytes);
  REQUIRE(data);
  CHECK(data->context_number == 4);
  CHECK(data->dropped == std::uint64_t{1} << 33);
  CHECK(data->ranges.size() == 1);
  CHECK(data->notes == std::vector<std::string>{"a", "b"});
  CHECK(std::vector<std::byte>(data->image.begin(), data->image.end()) == image);
  CHECK(bytes_of(*data) == bytes);
  refuses_parts(bytes, decode_counter_data);
  CHECK(decode_counter_data(bytes_of(counter_data({})))->image.empty());
}

TEST_CASE("lists that claim to be longer than the payload are refused") {
  Encoder encoder;
  encoder.integer(std::uint32_t{1}).integer(std::uint32_t{1}).integer(std::uint32_t{1});
  encoder.integer(std::uint32_t{0xffffffff});
  CHECK_FALSE(decode_metric_values(encoder.bytes()));
  Encoder metrics;
  metrics.integer(std::uint32_t{0xffffffff});
  CHECK_FALSE(decode_metrics(metrics.bytes()));
}

TEST_CASE("texts are no more than there are ranges and reasons") {
  const auto values = [](std::uint32_t names) {
    Encoder encoder;
    encoder.integer(std::uint32_t{1}).integer(std::uint32_t{1}).integer(std::uint32_t{1});
    encoder.integer(std::uint32_t{2}).raw(std::vector<std::byte>(2 * sizeof(MeasuredRange)));
    encoder.integer(names).raw(std::vector<std::byte>(4 * names));
    return decode_metric_values(
               encoder.integer(std::uint32_t{0}).integer(std::uint32_t{0}).integer(0).bytes())
        .has_value();
  };
  CHECK(values(max_texts + 2));
  CHECK_FALSE(values(max_texts + 3));
}
