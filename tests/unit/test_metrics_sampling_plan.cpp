// What is sampled where nothing is named, over the libcupti that needs no driver.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/sampling_plan.hpp"
#include "schema/views.hpp"
#include "tests/unit/host_library.hpp"

using namespace gpuprof;

TEST_CASE("fewer metrics are sampled by default where samples are taken often") {
  const auto cupti = host_library();
  if (!cupti) return;
  const cupti::HostChip chip(cupti, "GH100", cupti::Counting::samples);
  const std::vector<std::string> usual = metrics::default_samples(chip).names;
  std::vector<std::string> few = usual;
  for (const char* large :
       {"sm__inst_executed_realtime", "sm__warps_active_realtime", "dram__read_throughput",
        "dram__write_throughput", "lts__average_t_sector_hit_rate_realtime"}) {
    INFO(large);
    CHECK(std::erase_if(
              few, [&](const std::string& name) { return name.find(large) != name.npos; }) == 1);
  }
  CHECK(metrics::default_samples(chip, true).names == few);
  for (const auto& view : schema::views()) {
    if (!view.name.ends_with("_pm_samples_wide")) continue;
    for (const std::string& name : usual) {
      INFO(name);
      CHECK(view.sql.find("'" + name + "'") != view.sql.npos);
    }
  }
  const std::vector<std::string> word{std::string(metrics::default_samples_word)};
  CHECK(metrics::checked_samples(chip, word).names == usual);
  CHECK(metrics::checked_samples(chip, word, true).names == few);
  // What is named is taken, however large.
  const auto named = metrics::checked_samples(chip, {"default", usual[2]}, true).names;
  CHECK(named.size() == few.size() + 1);
  CHECK(named.back() == usual[2]);
}

TEST_CASE("what is sampled by default fits one pass on each chip") {
  const auto cupti = host_library();
  if (!cupti) return;
  const std::vector<std::string> chips = cupti->chips();
  CHECK(chips.size() == 30);
  for (const std::string& name : chips) {
    CAPTURE(name);
    const cupti::HostChip chip(cupti, name, cupti::Counting::samples);
    const std::vector<std::string> metrics = metrics::default_samples(chip).names;
    // Seven on chips that share the machine's memory, ten and more on others.
    CHECK(metrics.size() >= 7);
    auto image = chip.config_image(metrics);
    REQUIRE(image);
    CHECK(chip.passes(*image) == 1);
  }
}
