// The stand-in's host profiling API. The answers are those of NVIDIA's libcupti 13.0.
#include <cupti.h>
#include <cupti_profiler_host.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/fake_cupti/stand_in.hpp"

namespace {

std::size_t passes_of(const StandIn& cupti, std::vector<const char*> names) {
  const Host host(cupti, "FAKE1");
  REQUIRE(host.add(std::move(names)) == CUPTI_SUCCESS);
  return host.passes();
}

std::vector<std::string> base_metrics(const Host& host, CUpti_MetricType type) {
  const StandIn& cupti = host.cupti;
  PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, params);
  params.pHostObject = host.object;
  params.metricType = type;
  REQUIRE(CUPTI(cuptiProfilerHostGetBaseMetrics)(&params) == CUPTI_SUCCESS);
  return {params.ppMetricNames, params.ppMetricNames + params.numMetrics};
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("stand-in: chips and their metrics") {
  const StandIn cupti;
  PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, params);
  REQUIRE(CUPTI(cuptiProfilerHostGetSupportedChips)(&params) == CUPTI_SUCCESS);
  REQUIRE(params.numChips == 2);
  CHECK(params.ppChipNames[0] == std::string("FAKE1"));

  CHECK(Host(cupti, "GH100").result == CUPTI_ERROR_INVALID_CHIP_NAME);
  const Host first(cupti, "FAKE1"), second(cupti, "FAKE2");
  REQUIRE(first.result == CUPTI_SUCCESS);
  CHECK(has(base_metrics(first, CUPTI_METRIC_TYPE_COUNTER), "dram__bytes_read"));
  CHECK_FALSE(has(base_metrics(second, CUPTI_METRIC_TYPE_COUNTER), "dram__bytes_read"));
  CHECK(has(base_metrics(second, CUPTI_METRIC_TYPE_COUNTER), "dram__bytes_op_read"));
  CHECK(has(base_metrics(first, CUPTI_METRIC_TYPE_RATIO), "lts__t_sector_hit_rate"));
  CHECK(has(base_metrics(first, CUPTI_METRIC_TYPE_THROUGHPUT), "sm__throughput"));
}

TEST_CASE("stand-in: sub-metrics and properties") {
  const StandIn cupti;
  const Host host(cupti, "FAKE1");
  const auto sub = [&](const char* name, CUpti_MetricType type, std::vector<std::string>& names) {
    PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, params);
    params.pHostObject = host.object;
    params.metricType = type;
    params.pMetricName = name;
    const CUptiResult result = CUPTI(cuptiProfilerHostGetSubMetrics)(&params);
    if (result == CUPTI_SUCCESS) {
      names.assign(params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics);
    }
    return result;
  };
  std::vector<std::string> names;
  CHECK(sub("sm__warps_active.avg", CUPTI_METRIC_TYPE_COUNTER, names) == CUPTI_SUCCESS);
  CHECK(has(names, ".avg.pct_of_peak_sustained_active"));
  CHECK(sub("lts__t_sector_hit_rate", CUPTI_METRIC_TYPE_RATIO, names) == CUPTI_SUCCESS);
  CHECK(names == std::vector<std::string>{".max_rate", ".pct", ".ratio"});
  CHECK(sub("sm__throughput", CUPTI_METRIC_TYPE_COUNTER, names) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(sub("bogus", CUPTI_METRIC_TYPE_COUNTER, names) == CUPTI_ERROR_INVALID_METRIC_NAME);
  CHECK(sub("sm__warps_active.bogus", CUPTI_METRIC_TYPE_COUNTER, names) ==
        CUPTI_ERROR_INVALID_METRIC_NAME);

  PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
  params.pHostObject = host.object;
  params.pMetricName = "dram__bytes_read.sum.per_second";
  REQUIRE(CUPTI(cuptiProfilerHostGetMetricProperties)(&params) == CUPTI_SUCCESS);
  CHECK(params.pHwUnit == std::string("dram"));
  CHECK(params.pDimUnit == std::string("byte/second"));
  CHECK(params.metricType == CUPTI_METRIC_TYPE_COUNTER);
  CHECK(params.metricCollectionScope == CUPTI_METRIC_COLLECTION_SCOPE_CONTEXT);
  params.pMetricName = "nvlrx__bytes";
  REQUIRE(CUPTI(cuptiProfilerHostGetMetricProperties)(&params) == CUPTI_SUCCESS);
  CHECK(params.metricCollectionScope == CUPTI_METRIC_COLLECTION_SCOPE_DEVICE);
  params.pMetricName = "sm__warps_active.sum.bogus";
  CHECK(CUPTI(cuptiProfilerHostGetMetricProperties)(&params) == CUPTI_ERROR_INVALID_METRIC_NAME);
}

TEST_CASE("stand-in: passes") {
  const StandIn cupti;
  CHECK(passes_of(cupti, {"sm__warps_active.avg.pct_of_peak_sustained_active"}) == 1);
  // Units count side by side, and roll-ups of a counter are one.
  CHECK(passes_of(cupti, {"sm__warps_active.sum", "sm__warps_active.avg", "sm__ctas_launched.sum",
                          "smsp__inst_executed.sum", "smsp__inst_issued.sum", "lts__t_bytes.sum",
                          "dram__bytes_read.sum"}) == 1);
  CHECK(
      passes_of(cupti, {"sm__warps_active.sum", "sm__ctas_launched.sum", "smsp__inst_executed.sum",
                        "smsp__inst_issued.sum", "smsp__warps_launched.sum"}) == 2);
  const char* const sass = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
  CHECK(passes_of(cupti, {sass, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"}) == 1);
  CHECK(passes_of(cupti, {sass, "lts__t_bytes.sum"}) == 2);
  CHECK(passes_of(cupti, {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_second"}) == 2);
  CHECK(passes_of(cupti, {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}) == 3);
  CHECK(passes_of(cupti, {"lts__t_sector_hit_rate.pct", "lts__t_bytes.sum", "lts__t_sectors.sum",
                          "lts__t_sectors_op_read.sum"}) == 2);

  // Calls do not share passes.
  const Host host(cupti, "FAKE1");
  REQUIRE(host.add({"sm__warps_active.sum"}) == CUPTI_SUCCESS);
  REQUIRE(host.add({"lts__t_bytes.sum"}) == CUPTI_SUCCESS);
  CHECK(host.passes() == 2);
}

TEST_CASE("stand-in: what cannot be configured") {
  const StandIn cupti;
  for (const std::vector<const char*>& names : {std::vector<const char*>{"bogus.sum"},
                                                {"sm__warps_active"},
                                                {"sm__throughput.avg"},
                                                {"sm__warps_active.bogus"},
                                                {"sm__warps_active.pct_of_peak_sustained_active"},
                                                {"lts__t_sector_hit_rate"},
                                                {"lts__t_sector_hit_rate.sum"},
                                                {""},
                                                {"sm__warps_active.sum", "bogus.sum"},
                                                {"sm__warps_active.sum", "nvlrx__bytes.sum"}}) {
    const Host host(cupti, "FAKE1");
    CAPTURE(names);
    CHECK(host.add(names) == CUPTI_ERROR_INVALID_PARAMETER);
    // The object is of no more use.
    CHECK(host.add({"sm__warps_active.sum"}) == CUPTI_ERROR_UNKNOWN);
    CHECK(host.config().empty());
  }
  const Host untouched(cupti, "FAKE1");
  CHECK(untouched.config().empty());
  CHECK(untouched.add({}) == CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_CASE("stand-in: an older version refuses what it does not know") {
  using Initialize = CUpti_Profiler_Host_Initialize_Params;
  using Properties = CUpti_Profiler_Host_GetMetricProperties_Params;
  const std::size_t initialize_old = CUPTI_PROFILER_STRUCT_SIZE(Initialize, pHostObject);
  const std::size_t properties_old = CUPTI_PROFILER_STRUCT_SIZE(Properties, metricType);
  struct Case {
    const char* version;
    bool initialize, properties;
  };
  for (const Case& it : {Case{"24", false, false}, Case{"130000", false, false},
                         Case{"130100", false, true}, Case{"130200", true, true}}) {
    CAPTURE(it.version);
    const StandIn cupti(Environment{{"FAKE_CUPTI_VERSION", it.version}});
    PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
    params.pChipName = "FAKE1";
    const auto initialize = CUPTI(cuptiProfilerHostInitialize);
    CHECK((initialize(&params) == CUPTI_SUCCESS) == it.initialize);
    const auto release = [&] {
      PARAMS(CUpti_Profiler_Host_Deinitialize_Params, old);
      old.pHostObject = std::exchange(params.pHostObject, nullptr);
      if (old.pHostObject) CUPTI(cuptiProfilerHostDeinitialize)(&old);
    };
    release();
    params.structSize = initialize_old - 8;
    CHECK(initialize(&params) == CUPTI_ERROR_INVALID_PARAMETER);
    params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE + 8;
    CHECK(initialize(&params) == CUPTI_ERROR_INVALID_PARAMETER);
    params.structSize = initialize_old;
    REQUIRE(initialize(&params) == CUPTI_SUCCESS);

    PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, question);
    question.pHostObject = params.pHostObject;
    question.pMetricName = "nvlrx__bytes.sum";
    const auto ask = CUPTI(cuptiProfilerHostGetMetricProperties);
    CHECK((ask(&question) == CUPTI_SUCCESS) == it.properties);
    question.structSize = properties_old;
    question.metricCollectionScope = CUPTI_METRIC_COLLECTION_SCOPE_INVALID;
    CHECK(ask(&question) == CUPTI_SUCCESS);
    CHECK(question.metricCollectionScope == CUPTI_METRIC_COLLECTION_SCOPE_INVALID);
    release();
  }
}

TEST_CASE("stand-in: the host side fails when told") {
  const StandIn cupti(Environment{{"FAKE_CUPTI_FAIL", "cuptiProfilerHostConfigAddMetrics=35@2"}});
  const Host host(cupti, "FAKE1");
  CHECK(host.add({"lts__t_bytes.sum"}) == CUPTI_SUCCESS);
  CHECK(host.add({"lts__t_bytes.sum"}) == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
}
