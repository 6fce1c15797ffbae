// nvprof's names as data, and the catalogue over the libcupti that needs no driver.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/formula.hpp"
#include "schema/nvprof_metrics.hpp"
#include "tests/unit/host_library.hpp"

using namespace gpuprof;
using metrics::Catalogue;
using metrics::Formula;
using metrics::Metric;
using schema::MetricKind;

namespace {

// What and hint of the error that a name gives.
template <class Call>
std::string problem(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::bad_option);
    return std::string(error.what()) + " | " + error.hint();
  }
  return {};
}

double computed(const Catalogue& catalogue, const char* name, const std::vector<double>& counters) {
  return catalogue.metric(name).value(counters);
}

}  // namespace

TEST_CASE("each of nvprof's names has formulas or a reason") {
  std::size_t without = 0;
  std::set<std::string_view> units;
  for (const auto& metric : schema::nvprof_metric_formulas) {
    INFO(metric.name);
    CHECK_FALSE(metric.description.empty());
    CHECK(schema::kind_of(metric) != MetricKind::unknown);
    units.insert(schema::unit_of(metric));
    if (!metric.computable()) {
      ++without;
      CHECK_FALSE(metric.note.empty());
    }
    for (const std::string_view formula : metric.formulas) {
      if (!formula.empty()) CHECK_FALSE(Formula(formula).counters().empty());
    }
  }
  CHECK(std::size(schema::nvprof_metric_formulas) == 181);
  CHECK(without == 9);
  CHECK(units == std::set<std::string_view>{"", "%", "bytes", "bytes/s", "level of 10"});

  without = 0;
  for (const auto& event : schema::nvprof_event_formulas) {
    INFO(event.name);
    CHECK_FALSE(event.description.empty());
    without += !event.computable();
    for (const std::string_view formula : event.formulas) {
      if (!formula.empty()) CHECK_FALSE(Formula(formula).counters().empty());
    }
  }
  CHECK(std::size(schema::nvprof_event_formulas) == 82);
  CHECK(without == 10);
}

TEST_CASE("names that several counters make up") {
  struct Case {
    std::string_view name;
    std::vector<std::pair<std::string_view, double>> counters;  // in the formula's order
    double value;
  };
  const Case cases[] = {
      {"cf_fu_utilization",
       {{"smsp__inst_executed_pipe_cbu.avg.pct_of_peak_sustained_active", 25}},
       2.5},
      {"gld_requested_throughput",
       {{"smsp__sass_data_bytes_mem_global_op_ld.sum.per_second", 5}},
       5},
      {"gst_requested_throughput",
       {{"smsp__sass_data_bytes_mem_global_op_st.sum.per_second", 5}},
       5},
      {"inst_replay_overhead",
       {{"smsp__inst_issued.sum", 125}, {"smsp__inst_executed.sum", 100}},
       0.25},
      {"ldst_executed",
       {{"smsp__inst_executed_op_generic_ld.sum", 1},
        {"smsp__inst_executed_op_generic_st.sum", 2},
        {"smsp__inst_executed_op_global_ld.sum", 4},
        {"smsp__inst_executed_op_global_st.sum", 8},
        {"smsp__inst_executed_op_local_ld.sum", 16},
        {"smsp__inst_executed_op_local_st.sum", 32},
        {"smsp__inst_executed_op_shared_ld.sum", 64},
        {"smsp__inst_executed_op_shared_st.sum", 128},
        {"smsp__inst_executed_op_texture.sum", 256},
        {"smsp__inst_executed_op_ldsm.sum", 512},
        {"smsp__inst_executed_op_ldgsts.sum", 1024},
        {"smsp__inst_executed_op_shared_stsm.sum", 2048}},
       4095},
      {"local_hit_rate",
       {{"l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum", 6},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit.sum", 3},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 8},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", 4}},
       75},
      {"local_memory_overhead",
       {{"l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_miss.sum", 10},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", 20},
        {"l1tex__m_xbar2l1tex_read_sectors.sum", 80},
        {"l1tex__m_l1tex2xbar_write_sectors.sum", 40}},
       25},
      {"nvlink_data_receive_efficiency",
       {{"nvlrx__bytes_data_user.sum", 3}, {"nvlrx__bytes.sum", 4}},
       75},
      {"nvlink_data_transmission_efficiency",
       {{"nvltx__bytes_data_user.sum", 1}, {"nvltx__bytes.sum", 4}},
       25},
      {"nvlink_total_response_data_received", {{"nvlrx__bytes_packet_response.sum", 7}}, 7},
      {"nvlink_user_response_data_received",
       {{"nvlrx__bytes_packet_response_data_user.sum", 7}},
       7},
      {"shared_load_transactions_per_request",
       {{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 64},
        {"smsp__inst_executed_op_shared_ld_pred_on_any.sum", 2}},
       32},
      {"shared_store_transactions_per_request",
       {{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 3},
        {"smsp__inst_executed_op_shared_st_pred_on_any.sum", 2}},
       1.5},
      {"sysmem_read_utilization",
       {{"pcie__read_bytes.avg.pct_of_peak_sustained_elapsed", 88}},
       8.8},
      {"sysmem_utilization", {{"pcie__throughput.avg.pct_of_peak_sustained_elapsed", 90}}, 9},
      {"sysmem_write_utilization",
       {{"pcie__write_bytes.avg.pct_of_peak_sustained_elapsed", 5}},
       0.5},
      {"tex_cache_throughput",
       {{"l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second", 1},
        {"l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum.per_second", 2},
        {"l1tex__t_bytes_pipe_tex_mem_texture.sum.per_second", 4},
        {"l1tex__t_bytes_pipe_tex_mem_surface_op_ld.sum.per_second", 8}},
       15},
      {"tex_utilization", {{"l1tex__throughput.avg.pct_of_peak_sustained_elapsed", 42}}, 4.2},
  };
  for (const Case& test : cases) {
    INFO(test.name);
    const auto* metric = schema::find_metric_formula(test.name);
    REQUIRE(metric);
    REQUIRE(metric->computable());
    const Formula formula(metric->formulas[0]);
    std::vector<std::string> names;
    std::vector<double> values;
    for (const auto& [name, value] : test.counters) {
      names.emplace_back(name);
      values.push_back(value);
    }
    CHECK(formula.counters() == names);
    CHECK(formula.value(values) == Approx(test.value));
    // A kernel that has nothing of what is divided has a ratio of 0, as in nvprof.
    CHECK(formula.value(std::vector<double>(values.size(), 0)) == 0);
  }
}

TEST_CASE("the id to write is that of the newest generation") {
  using schema::nvprof_event_id;
  using schema::nvprof_metric_id;
  CHECK(nvprof_metric_id("achieved_occupancy") == 20971638);
  CHECK(nvprof_metric_id("tensor_int_fu_utilization") == 22741001);
  CHECK_FALSE(nvprof_metric_id("tex_sm_utilization").has_value());
  CHECK_FALSE(nvprof_metric_id("dram__bytes_read.sum").has_value());
  CHECK(nvprof_event_id("active_cycles") == 2629);
  CHECK(nvprof_event_id("local_load") == 2625);
  CHECK_FALSE(nvprof_event_id("global_load").has_value());
}

TEST_CASE("values as nvprof stores them") {
  using schema::nvprof_bits;
  const auto real = [](MetricKind kind, double value) {
    return std::bit_cast<double>(nvprof_bits(kind, value).value());
  };
  CHECK(real(MetricKind::real, 0.43) == 0.43);
  CHECK(real(MetricKind::percent, 99.5) == 99.5);
  CHECK(nvprof_bits(MetricKind::count, 2.5) == 3);
  CHECK(nvprof_bits(MetricKind::count, -1) == 0);
  CHECK(nvprof_bits(MetricKind::throughput, 1e12) == 1'000'000'000'000);
  CHECK(nvprof_bits(MetricKind::utilization, 3.49) == 3);
  CHECK(nvprof_bits(MetricKind::utilization, 3.5) == 4);
  CHECK(nvprof_bits(MetricKind::utilization, 10.7) == 10);
  CHECK_FALSE(nvprof_bits(MetricKind::count, std::nan("")).has_value());
  CHECK_FALSE(nvprof_bits(MetricKind::real, HUGE_VAL).has_value());
}

TEST_CASE("metrics in nvprof's units") {
  const auto cupti = host_library();
  if (!cupti) return;
  const cupti::HostChip chip(cupti, "GH100");
  const Catalogue catalogue(chip);
  CHECK(computed(catalogue, "achieved_occupancy", {43}) == 0.43);
  CHECK(computed(catalogue, "dram_utilization", {35}) == 3.5);
  CHECK(computed(catalogue, "sm_efficiency", {35}) == 35);
  // Sectors of 32 bytes, and wavefronts of 128, per second.
  CHECK(computed(catalogue, "local_store_throughput", {10}) == 320);
  CHECK(computed(catalogue, "l2_read_throughput", {1, 2, 3}) == 192);
  CHECK(computed(catalogue, "shared_load_throughput", {10}) == 1280);
  CHECK(computed(catalogue, "sysmem_read_bytes", {10}) == 320);
  CHECK(computed(catalogue, "flop_count_sp", {1, 2, 3}) == 9);
  CHECK(computed(catalogue, "global_hit_rate", {1, 1, 0, 0, 4, 0, 0, 0}) == 50);
  CHECK(computed(catalogue, "global_hit_rate", {0, 0, 0, 0, 0, 0, 0, 0}) == 0);
  CHECK(computed(catalogue, "warp_execution_efficiency", {16}) == 50);

  const Metric occupancy = catalogue.metric("achieved_occupancy");
  CHECK(occupancy.origin == Metric::Origin::nvprof_metric);
  CHECK(occupancy.kind == MetricKind::real);
  CHECK(occupancy.nvprof_id == 20971638);
  CHECK(occupancy.counters ==
        std::vector<std::string>{"sm__warps_active.avg.pct_of_peak_sustained_active"});
}

TEST_CASE("CUPTI's metrics are their own formula") {
  const auto cupti = host_library();
  if (!cupti) return;
  const cupti::HostChip chip(cupti, "GH100");
  const Catalogue catalogue(chip);
  const Metric metric = catalogue.metric("dram__bytes_read.sum.per_second");
  CHECK(metric.origin == Metric::Origin::cupti);
  CHECK(metric.unit == "byte/s");
  CHECK_FALSE(metric.description.empty());
  CHECK_FALSE(metric.nvprof_id.has_value());
  CHECK(metric.counters == std::vector<std::string>{metric.name});
  CHECK(metric.value(std::vector<double>{5}) == 5);
  CHECK(catalogue.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").unit == "%");
  CHECK(metrics::unit_of("sm__warps_active.avg.per_cycle_active", "warp") == "warp/cycle");
  CHECK(metrics::unit_of("dram__bytes.sum", "byte") == "byte");
}

TEST_CASE("the newer of two names is taken where a chip has only that") {
  const auto cupti = host_library();
  if (!cupti) return;
  const auto formula = [&](const char* chip_name, const char* metric) {
    const cupti::HostChip chip(cupti, chip_name);
    return Catalogue(chip).metric(metric).formula;
  };
  CHECK(formula("GH100", "dram_read_bytes") == "dram__bytes_read.sum");
  CHECK(formula("GB202", "dram_read_bytes") == "dram__bytes_op_read.sum");
}

TEST_CASE("a wrong name is reported with what may be meant") {
  const auto cupti = host_library();
  if (!cupti) return;
  const cupti::HostChip chip(cupti, "GH100");
  const Catalogue catalogue(chip);
  const auto metric = [&](const char* name) { return problem([&] { catalogue.metric(name); }); };
  const auto event = [&](const char* name) { return problem([&] { catalogue.event(name); }); };
  CHECK(metric("dram__bytes_read") ==
        "metric dram__bytes_read lacks a roll-up | add .sum, .avg, .min or .max to the name");
  CHECK(metric("sm__throughput").find(".avg.pct_of_peak_sustained_elapsed") != std::string::npos);
  CHECK(metric("dram__bytes_raed.sum.per_second")
            .find("did you mean dram__bytes_read.sum.per_second") != std::string::npos);
  CHECK(metric("dram__bytes_read.smu") ==
        "metric dram__bytes_read has no .smu | did you mean .sum?");
  CHECK(metric("acheived_occupancy").find("did you mean achieved_occupancy?") != std::string::npos);
  CHECK(metric("cf_issued").find("cf_executed") != std::string::npos);
  CHECK(metric("l2_local_load_bytes").find("GH100 cannot count") == 0);
  CHECK(metric("atom_count") == "atom_count is an event, not a metric | use --events");
  CHECK(event("ipc") == "ipc is a metric, not an event | use --metrics");
  CHECK(event("atom_cuont").find("did you mean atom_count?") != std::string::npos);
  CHECK(event("prof_trigger_00").find("no counterpart") != std::string::npos);
  CHECK(metric("nothing_like_it").find("GH100 has no metric nothing_like_it") == 0);
  CHECK(metric("").find("GH100 has no metric") == 0);
}

TEST_CASE("all metrics, and each once") {
  const auto cupti = host_library();
  if (!cupti) return;
  const cupti::HostChip chip(cupti, "GH100");
  const Catalogue catalogue(chip);
  const auto all = catalogue.metrics({"ipc", "all", "ipc", "dram__bytes_read.sum"});
  std::set<std::string> names;
  for (const Metric& metric : all) names.insert(metric.name);
  CHECK(names.size() == all.size());
  CHECK(all.front().name == "ipc");
  CHECK(all.back().name == "dram__bytes_read.sum");
  CHECK(all.size() == 172);  // nvprof's 171 and one of CUPTI's
  CHECK(catalogue.events({"all"}).size() == 72);
  CHECK(catalogue.event("inst_executed").nvprof_id == 2619);
  CHECK(catalogue.metric("inst_executed").nvprof_id == 20971579);
}
