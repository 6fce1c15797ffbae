// Counter data images recorded on an H200, evaluated here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libprof/metrics/evaluator.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"
#include "libprof/wire/format.hpp"
#include "tests/unit/host_library.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using metrics::Catalogue;
using metrics::GroupMetrics;
using metrics::Metric;

namespace {

// examples/known_counts 2 with five metrics, its counter data kept.
struct Capture {
  std::vector<wire::Frame> frames;  // `images` are views into them
  wire::MetricsInfo info;
  std::vector<wire::CounterData> images;
  std::vector<double> values;  // as evaluated where they were recorded: by range and metric

  Capture() {
    wire::CaptureReader reader(GPUPROF_BUILD_DIR "/tests/captures/metrics.gpcap");
    for (wire::Frame frame; reader.next(frame);) frames.push_back(std::move(frame));
    REQUIRE(reader.whole());
    for (const wire::Frame& frame : frames) {
      if (frame.type == wire::FrameType::metrics) {
        info = wire::decode_metrics(frame.payload()).value();
      } else if (frame.type == wire::FrameType::counter_data) {
        images.push_back(wire::decode_counter_data(frame.payload()).value());
      }
    }
    store::Loader loader = test::make_loader();
    for (const wire::Frame& frame : frames) loader.load(frame);
    loader.commit();
    store::Statement rows =
        loader.database().prepare("SELECT value FROM METRIC_VALUE ORDER BY range, metric");
    while (rows.step()) values.push_back(rows.real(0));
  }

  GroupMetrics group(const std::vector<Metric>& metrics, std::uint32_t id) const {
    GroupMetrics result;
    result.numbers = info.groups.at(id - 1).metrics;
    for (const std::uint32_t number : result.numbers) {
      result.metrics.push_back(&metrics.at(number - 1));
    }
    return result;
  }

  std::vector<Metric> metrics(const cupti::HostChip& chip) const {
    std::vector<Metric> result;
    for (const auto& metric : info.metrics) {
      result.push_back(Catalogue(chip).metric(metric.name));
    }
    return result;
  }
};

}  // namespace

TEST_CASE("images of an H200 give the values they gave there") {
  const auto cupti = host_library();
  if (!cupti) return;
  const Capture capture;
  const cupti::HostChip chip(cupti, "GH100");
  const auto metrics = capture.metrics(chip);
  REQUIRE(capture.images.size() == 3);
  auto there = capture.values.begin();
  for (const wire::CounterData& data : capture.images) {
    CHECK(chip.ranges(std::span(reinterpret_cast<const std::uint8_t*>(data.image.data()),
                                data.image.size())) == 10);
    const auto here = metrics::evaluate(chip, capture.group(metrics, data.group), data);
    REQUIRE(here.ranges.size() == 10);
    CHECK(std::ranges::is_sorted(here.metrics));
    for (const auto& range : here.ranges) CHECK(range.note == 0);
    REQUIRE(here.values.size() <= static_cast<std::size_t>(capture.values.end() - there));
    for (const double value : here.values) {
      CHECK(std::isfinite(value));
      CHECK(value == Approx(*there++).epsilon(1e-12));
    }
  }
  CHECK(there == capture.values.end());
}

TEST_CASE("values of an H200 are what the kernels did") {
  const auto cupti = host_library();
  if (!cupti) return;
  const Capture capture;
  const cupti::HostChip chip(cupti, "GH100");
  const auto metrics = capture.metrics(chip);
  // Of kernels whose work can be counted: warps, flops, and bytes that have to be read.
  struct Counts {
    double warps, flops, bytes;
  };
  const std::map<std::string, Counts> counts{
      {"_Z4copyPKfPf", {2097152, 0, 268435456}},
      {"_Z5saxpyfPKfPf", {2097152, 134217728, 536870912}},
      {"_Z6matmulPKfS0_Pf", {32768, 2147483648, 8388608}},
      {"_Z9reductionPKfPf", {2097152, 66846720, 0.96 * 268435456}},  // some was in the L2 cache
      {"_Z7atomicsPi", {32768, 0, 0}},
  };
  std::multiset<std::string> seen;
  for (const wire::CounterData& data : capture.images) {
    const auto values = metrics::evaluate(chip, capture.group(metrics, data.group), data);
    for (std::size_t i = 0; i < values.ranges.size(); ++i) {
      const std::string& kernel = values.names.at(values.ranges[i].name - 1);
      INFO(kernel);
      const auto& [warps, flops, bytes] = counts.at(kernel);
      for (std::size_t m = 0; m < values.metrics.size(); ++m) {
        const std::string& name = capture.info.metrics[values.metrics[m] - 1].name;
        const double value = values.values[i * values.metrics.size() + m];
        seen.insert(name);
        if (name == "sm__warps_launched.sum") {
          CHECK(value == warps);
        } else if (name == "flop_count_sp") {
          CHECK(value == flops);
        } else if (name == "dram__bytes_read.sum") {
          CHECK(value >= bytes);
          CHECK(value < bytes * 1.02 + 16384);
        } else if (name == "lts__t_sector_hit_rate.pct") {
          CHECK((value > 0 && value <= 101));
        } else {
          CHECK(name == "ipc");
          CHECK((value > 0.1 && value < 4));
        }
      }
    }
  }
  for (const char* name : {"sm__warps_launched.sum", "dram__bytes_read.sum",
                           "lts__t_sector_hit_rate.pct", "ipc", "flop_count_sp"}) {
    CHECK(seen.count(name) == 10);
  }
}

TEST_CASE("what cannot be evaluated has a reason and no value") {
  const auto cupti = host_library();
  if (!cupti) return;
  const Capture capture;
  const cupti::HostChip chip(cupti, "GH100");
  const auto metrics = capture.metrics(chip);
  wire::CounterData data = capture.images[0];
  const auto group = capture.group(metrics, data.group);
  const auto reason = [&] {
    const auto values = metrics::evaluate(chip, group, data);
    for (const double value : values.values) CHECK(std::isnan(value));
    for (const auto& range : values.ranges) CHECK(range.note == values.ranges[0].note);
    return values.notes.at(values.ranges.at(0).note - 1);
  };
  const auto all = data.ranges;
  data.ranges.pop_back();
  CHECK(reason() == "CUPTI has 10 ranges for 9 launches");
  data.ranges = all;
  data.image = {};
  CHECK(reason() == "nothing was collected");
}
