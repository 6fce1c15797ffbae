// Plans over the libcupti that needs no driver, for every chip it knows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/metrics/plan.hpp"
#include "tests/unit/host_library.hpp"

using namespace gpuprof;
using metrics::Catalogue;
using metrics::CostClass;
using metrics::Group;
using metrics::Metric;

namespace {

// Each metric is in one group, and CUPTI confirms what the group says of itself.
void check(const cupti::HostChip& chip, const std::vector<Metric>& wanted,
           const std::vector<Group>& groups) {
  std::multiset<std::size_t> planned;
  for (const Group& group : groups) {
    planned.insert(group.metrics.begin(), group.metrics.end());
    cupti::Image image = group.config_image;
    CHECK(chip.passes(image) == group.passes);
    CHECK(group.passes > 0);
    CostClass dearest{};
    for (const std::string& counter : group.counters) {
      dearest = std::max(dearest, metrics::cost_class(counter));
    }
    CHECK(group.cost == dearest);
    std::set<std::string> counters;
    for (const std::size_t metric : group.metrics) {
      counters.insert(wanted[metric].counters.begin(), wanted[metric].counters.end());
    }
    CHECK(std::set(group.counters.begin(), group.counters.end()) == counters);
    CHECK(group.counters.size() == counters.size());
  }
  CHECK(planned.size() == wanted.size());
  CHECK(std::set(planned.begin(), planned.end()).size() == wanted.size());
}

}  // namespace

TEST_CASE("where a counter sits") {
  using metrics::cost_class;
  CHECK(cost_class("gpu__time_duration.sum") == CostClass::device_time);
  CHECK(cost_class("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") == CostClass::patched);
  CHECK(cost_class("dram__bytes_read.sum") == CostClass::outside_sm);
  CHECK(cost_class("lts__t_sectors.sum") == CostClass::outside_sm);
  CHECK(cost_class("gpc__cycles_elapsed.max") == CostClass::outside_sm);
  CHECK(cost_class("sm__cycles_active.avg") == CostClass::inside_sm);
  CHECK(cost_class("l1tex__t_bytes.sum") == CostClass::inside_sm);
  CHECK(cost_class("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed") ==
        CostClass::inside_sm);
}

TEST_CASE("cheap counters do not wait for dear ones, on every chip") {
  const auto cupti = host_library();
  if (!cupti) return;
  std::size_t chips = 0;
  for (const std::string& name : cupti->chips()) {
    INFO(name);
    const cupti::HostChip chip(cupti, name);
    const Catalogue catalogue(chip);
    const auto wanted =
        catalogue.metrics({"achieved_occupancy", "lts__t_sectors_op_read.sum",
                           "lts__t_sectors_op_write.sum", "flop_count_sp", "gpu__time_duration.sum",
                           "sm__throughput.avg.pct_of_peak_sustained_elapsed"});
    const auto groups = metrics::plan(chip, wanted);
    check(chip, wanted, groups);
    std::set<CostClass> classes;
    for (const Group& group : groups) {
      classes.insert(group.cost);
      const bool throughput = std::ranges::any_of(group.metrics, [&](std::size_t metric) {
        return wanted[metric].name.starts_with("sm__throughput");
      });
      if (!throughput) CHECK(group.passes == 1);
    }
    CHECK(classes.size() == 4);
    // Counts before times: the first run is traced.
    CHECK(groups.back().cost == CostClass::device_time);
    CHECK(groups.front().cost == CostClass::patched);
    // Reads and writes go together.
    CHECK(groups.size() <= 6);

    const Group all = metrics::plan_together(chip, wanted);
    check(chip, wanted, {all});
    CHECK(all.cost == CostClass::inside_sm);
    ++chips;
  }
  CHECK(chips >= 25);
}

TEST_CASE("of ranges counters that cost differently go together, but for those of patched code") {
  const auto cupti = host_library();
  if (!cupti) return;
  using metrics::Grouping;
  for (const char* name : {"TU102", "GA100", "GH100", "GB100", "GB202"}) {
    INFO(name);
    const cupti::HostChip chip(cupti, name);
    const auto wanted = Catalogue(chip).metrics(
        {"flop_count_sp", "lts__t_sectors_op_read.sum", "sm__warps_launched.sum",
         "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"});
    const auto groups = metrics::plan(chip, wanted, Grouping::fewest);
    check(chip, wanted, groups);
    const auto total = [](const std::vector<Group>& all) {
      std::size_t passes = 0;
      for (const Group& group : all) passes += group.passes;
      return passes;
    };
    CHECK(total(groups) < total(metrics::plan(chip, wanted)));
    for (const Group& group : groups) {
      if (group.cost == CostClass::patched) CHECK(group.metrics == std::vector<std::size_t>{0});
    }
    const auto most = metrics::most_of_one_pass(chip, wanted);
    CHECK(most == std::vector<std::string>{"lts__t_sectors_op_read.sum", "sm__warps_launched.sum",
                                           "gpu__time_duration.sum"});
    const auto one_pass = metrics::plan(chip, Catalogue(chip).metrics(most), Grouping::fewest);
    REQUIRE(one_pass.size() == 1);
    CHECK(one_pass[0].passes == 1);
  }
}

TEST_CASE("runs of the program are as few as passes allow") {
  const auto cupti = host_library();
  if (!cupti) return;
  using metrics::Grouping;
  for (const char* name : {"TU102", "GA100", "GH100", "GB100", "GB202"}) {
    INFO(name);
    const cupti::HostChip chip(cupti, name);
    const auto plan_of = [&](const std::vector<std::string>& names) {
      const auto wanted = Catalogue(chip).metrics(names);
      auto groups = metrics::plan(chip, wanted, Grouping::fewest_runs);
      check(chip, wanted, groups);
      return groups;
    };
    const std::string outside = "lts__t_sectors_op_read.sum";
    const std::string inside = "sm__warps_launched.sum";
    const std::string time = "gpu__time_duration.sum";
    CHECK(plan_of({outside, inside}).size() == 1);
    // The first run is traced, so time has another one.
    const auto timed = plan_of({time, outside, inside});
    REQUIRE(timed.size() == 2);
    CHECK(timed[1].metrics == std::vector<std::size_t>{0});
    const auto all = plan_of({time, outside, "flop_count_sp", inside});
    REQUIRE(all.size() == 2);
    CHECK(all[0].metrics == std::vector<std::size_t>{2});
  }
}

TEST_CASE("all of nvprof's metrics are planned, on every chip") {
  const auto cupti = host_library();
  if (!cupti) return;
  for (const char* name : {"TU102", "GA100", "GH100", "GB100", "GB202"}) {
    INFO(name);
    const cupti::HostChip chip(cupti, name);
    const auto wanted = Catalogue(chip).metrics({"all"});
    const auto groups = metrics::plan(chip, wanted);
    check(chip, wanted, groups);
    CHECK(groups.size() < wanted.size());
    // A group of patched counters has no others: what is said of one is true of all its metrics.
    for (const Group& group : groups) {
      for (const std::string& counter : group.counters) {
        CHECK((metrics::cost_class(counter) == CostClass::patched) ==
              (group.cost == CostClass::patched));
      }
    }
  }
}

TEST_CASE("batches: larger for longer runs and dearer switches") {
  Group outside;
  Group inside;
  outside.cost = CostClass::outside_sm;
  inside.cost = CostClass::inside_sm;
  CHECK(metrics::best_batch(outside, 0) == 64);
  CHECK(metrics::best_batch(outside, 10'000) < metrics::best_batch(outside, 100'000));
  CHECK(metrics::best_batch(inside, 100'000) < metrics::best_batch(outside, 100'000));
  CHECK(metrics::best_batch(outside, 1'000'000'000) == 4096);
}
