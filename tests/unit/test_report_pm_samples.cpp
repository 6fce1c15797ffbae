// --print-pm-sampling: figures by device, NVTX range and kernel.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "libprof/report/pm_samples.hpp"
#include "libprof/report/report.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/printed.hpp"

using namespace gpuprof;
using namespace gpuprof::report;
using gpuprof::test::has;

namespace {

// Device 0: 10 in [1000, 1100), 30 in [1100, 1400), none in [1400, 1500), 50 in [1500, 1600).
store::Database samples(const std::string& more = {}) {
  store::Database file = test::empty_tables();
  file.execute(
      "INSERT INTO PM_METRIC(_id_, name, unit, part, place) VALUES(1, 'busy', '%', 0, 1), "
      "(2, 'bytes', 'byte/s', 0, 2), (17, 'far', NULL, 1, 1);"
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1, v2) VALUES(0, 1000, 1100, 0, 10, 1), "
      "(0, 1100, 1400, 0, 30, 2e9), (0, 1500, 1600, 0, 50, NULL), (1, 1000, 1100, 0, 7, NULL);"
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1) VALUES(0, 1000, 1100, 1, 4);"
      "INSERT INTO StringTable(_id_, value, demangled) VALUES(1, 'kernel', NULL), "
      "(2, 'step/forward', NULL);"
      "INSERT INTO NVTX_PATH(range, path) VALUES(5, 2), (6, 2);"
      "INSERT INTO RANGE_TIME(range, deviceId, first, last) VALUES(5, 0, 1050, 1150), "
      "(6, 0, 1100, 1200);"
      "INSERT INTO PM_KERNEL(deviceId, name, start, stop, samples, part, v1, v2) VALUES"
      "(0, 1, 1000, 1100, 1, 0, 10, NULL), (0, 1, 1100, 1400, 1, 0, 30, NULL);" +
      more);
  return file;
}

std::string printed(store::Database& file, ReportOptions options = {}) {
  options.chosen.insert("print-pm-sampling");
  return test::printed(file, options);
}

}  // namespace

TEST_CASE("PM samples are told by metric and device, weighted by time") {
  store::Database file = samples();
  const auto document = nlohmann::json::parse(printed(file, {.layout = Layout::json}));
  const auto& devices = document["tables"][0];
  CHECK(devices["table"] == "pm_samples");
  CHECK(devices["rows"].size() == 4);
  const auto& busy = devices["rows"][0];
  CHECK(busy["metric"] == "busy");
  CHECK(busy["samples"] == 3);
  CHECK(busy["time_ns"] == 500);
  CHECK(busy["mean"] == Approx((10.0 * 100 + 30.0 * 300 + 50.0 * 100) / 500));
  CHECK(busy["max"] == Approx(50));
  CHECK(busy["p50"] == Approx(30));
  CHECK(busy["p90"] == Approx(50));
  CHECK(busy["p99"] == Approx(50));
  const auto& bytes = devices["rows"][1];
  CHECK(bytes["mean"] == Approx((1.0 * 100 + 2e9 * 300) / 400));
}

TEST_CASE("PM samples are told by NVTX range and kernel, each time once") {
  store::Database file = samples();
  const auto document = nlohmann::json::parse(printed(file, {.layout = Layout::json}));
  const auto& ranges = document["tables"][1];
  CHECK(ranges["table"] == "pm_ranges");
  const auto& busy = ranges["rows"][0];
  CHECK(busy["range"] == "step/forward");
  CHECK(busy["ranges"] == 2);
  CHECK(busy["time_ns"] == 150);  // of 1050 to 1200
  CHECK(busy["mean"] == Approx((10.0 * 50 + 30.0 * 100) / 150));
  const auto& kernels = document["tables"][2];
  CHECK(kernels["table"] == "pm_kernels");
  CHECK(kernels["rows"].size() == 1);
  CHECK(kernels["rows"][0]["kernel"] == "kernel");
  CHECK(kernels["rows"][0]["kernels"] == 2);
  CHECK(kernels["rows"][0]["mean"] == Approx((10.0 * 100 + 30.0 * 300) / 400));
  CHECK(kernels["rows"][0]["p50"] == Approx(30));
}

TEST_CASE("PM samples as text have charts and gaps") {
  store::Database file = samples(
      "INSERT INTO PM_GAP(deviceId, start, stop, reason) VALUES(0, 1400, 1500, 'overflow'), "
      "(0, 0, 7, 'missing')");
  const std::string text = printed(file, {.blocks = true});
  CHECK(has(text,
            "Device \"0\": 3 samples of 500ns in 600ns, 2 gaps (missing 1, overflow 1) of "
            "100ns, 1 of them of unknown length\n"));
  CHECK(has(text, "Device \"1\": 1 sample of 100ns in 100ns, no gaps\n"));
  // 40 characters for 600 ns; what has no sample is blank.
  CHECK(has(text, "  ▁▁▁▁▁▁▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃      ▅▅▅▅▅▅▅  busy\n"));
  CHECK(has(text, "        2G          2G  "));
  CHECK(has(text, "step/forward\n  2 ranges on 0, 150ns\n"));
  CHECK(has(text, "kernel\n  2 kernels on 0, 400ns\n"));
}

TEST_CASE("filters apply to PM samples") {
  store::Database file = samples();
  const std::string other = printed(file, {.filter = {.devices = {1}}});
  CHECK_FALSE(has(other, "Device \"0\""));
  CHECK_FALSE(has(other, "ranges on"));
  const std::string none = printed(file, {.filter = {.kernels = "nothing"}});
  CHECK_FALSE(has(none, "kernels on"));
}

TEST_CASE("PM samples that cannot be are skipped, and no time counts twice") {
  store::Database file = samples(
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1) VALUES(0, 0, 0, 0, 99), "
      "(0, 1700, 1650, 0, 99), (0, 1000, 1100, 0, 99), (0, 1500, 1700, 0, 50), "
      "(0, 1800, 1900, 7, 99);"
      "INSERT INTO PM_METRIC(_id_, name, part, place) VALUES(99, 'nowhere', 0, 99), "
      "(98, 'nothing', 9223372036854775807, 1);"
      "INSERT INTO RANGE_TIME(range, deviceId, first, last) VALUES(7, 0, -9223372036854775808, "
      "9223372036854775807), (8, 0, 9000, 8000);"
      "INSERT INTO NVTX_PATH(range, path) VALUES(7, 2), (8, 2)");
  const std::string text = printed(file);
  CHECK(has(text, "4 samples of 600ns in 700ns"));
  CHECK(has(text, "2 records skipped: PM_SAMPLE with impossible times."));
  CHECK_FALSE(has(text, "nowhere"));
  CHECK(has(text, "2 ranges on 0, 150ns"));
}

TEST_CASE("percentiles of PM samples are values that were not exceeded for so long") {
  std::vector<WeightedValue> values{{5, 1},
                                    {1, 50},
                                    {2, 40},
                                    {3, 8},
                                    {4, 1},
                                    {100, 0},
                                    {std::numeric_limits<double>::quiet_NaN(), 9}};
  const auto statistics = pm_statistics(values);
  REQUIRE(statistics);
  CHECK(statistics->p50 == 1);
  CHECK(statistics->p90 == 2);
  CHECK(statistics->p99 == 4);
  CHECK(statistics->max == 5);
  CHECK(statistics->mean == Approx((5 + 50 + 80 + 24 + 4) / 100.0));
  std::vector<WeightedValue> none;
  CHECK_FALSE(pm_statistics(none));
}

TEST_CASE("a profile without PM samples says how to have some") {
  store::Database file = test::empty_tables();
  CHECK(has(printed(file), "No PM samples are in the profile"));
}
