// What is measured in which run of the target.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/metrics/run_plan.hpp"
#include "tests/unit/host_library.hpp"

using namespace gpuprof;
using metrics::Replay;
using metrics::RunPlan;

namespace {

metrics::PlanOptions options(Replay replay) {
  metrics::PlanOptions options;
  options.replay = replay;
  options.requests.push_back({.metrics = {"ipc", "dram_read_bytes", "flop_count_sp"}});
  options.requests.push_back({.metrics = {"tex_utilization"}, .kernels = "gemm"});
  return options;
}

}  // namespace

TEST_CASE("each pass of each group has its run, and only one") {
  const auto cupti = host_library();
  if (!cupti) return;
  const RunPlan plan(cupti, {"GH100", "GA100"}, options(Replay::application));
  std::map<std::string, std::size_t> runs;                     // by chip
  std::map<std::uint32_t, std::vector<std::uint32_t>> passes;  // by group
  for (std::size_t run = 0; run < plan.runs(); ++run) {
    const auto config = plan.config(run, 0);
    CHECK(config.list_launches == (run == 0));
    CHECK(config.scopes.size() == 2);
    for (const auto& group : config.groups) {
      passes[group.id].push_back(group.pass);
      ++runs[group.chip];
      CHECK(group.passes == plan.group(group.id)->group.passes);
      CHECK(group.scope == plan.group(group.id)->scope);
    }
  }
  CHECK(std::max(runs["GH100"], runs["GA100"]) == plan.runs());
  for (const auto& [id, found] : passes) {
    std::vector<std::uint32_t> all(plan.group(id)->group.passes);
    for (std::uint32_t pass = 0; pass < all.size(); ++pass) all[pass] = pass;
    CHECK(found == all);
  }
  CHECK(plan.group(static_cast<std::uint32_t>(passes.size())));
  CHECK_FALSE(plan.group(static_cast<std::uint32_t>(passes.size()) + 1));
  CHECK_FALSE(plan.group(0));
  CHECK(plan.patterns().at(1).kernels == "gemm");
}

TEST_CASE("other modes take one run, and say what they cannot") {
  const auto cupti = host_library();
  if (!cupti) return;
  const RunPlan together(cupti, {"GH100"}, options(Replay::kernel));
  CHECK(together.runs() == 1);
  CHECK(together.config(0, 0).groups.size() == 2);  // one for each scope
  const RunPlan multiplexed(cupti, {"GH100"}, options(Replay::multiplex));
  CHECK(multiplexed.runs() == 1);
  std::size_t several = 0;
  for (const auto& group : multiplexed.config(0, 0).groups) several += group.passes > 1;
  CHECK(several == 1);  // tex_utilization
  metrics::PlanOptions one_run = options(Replay::application);
  one_run.one_run = true;
  CHECK_THROWS_WITH(RunPlan(cupti, {"GH100"}, one_run), Catch::Contains(" runs on GH100"));
}
