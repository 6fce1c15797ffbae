// What reports say of themselves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "libprof/report/report.hpp"

using namespace gpuprof::report;

namespace {

ReportOptions chosen(std::set<std::string> options) { return {.chosen = std::move(options)}; }

}  // namespace

TEST_CASE("reports have options, letters and places of their own") {
  std::set<std::string_view> options;
  std::set<char> letters;
  for (const Report* report : reports()) {
    INFO(report->option);
    CHECK(report->help.empty() == report->option.empty());
    CHECK((report->letter == '\0' || letters.insert(report->letter).second));
    CHECK((report->option.empty() || options.insert(report->option).second));
    const bool section = std::holds_alternative<Section>(report->does);
    const bool traced = std::holds_alternative<Traced>(report->does);
    const bool printer = std::holds_alternative<Printer>(report->does);
    if (section) CHECK(report->phase == Phase::summary);
    CHECK(traced == (report->phase == Phase::trace));
    // Nobody else could ask for it.
    if (report->option.empty()) CHECK(printer);
    CHECK((report->needs == nullptr) == report->missing.empty());
  }
  CHECK(std::ranges::is_sorted(reports(), {}, &Report::phase));
}

TEST_CASE("summaries and traces exclude one another, and nothing else does") {
  for (const Report* one : reports()) {
    for (const Report* other : reports()) {
      if (one->option.empty() || other->option.empty() || one->needs || other->needs) continue;
      INFO(one->option << " " << other->option);
      const std::set phases{one->phase, other->phase};
      const bool wrong = phases == std::set{Phase::summary, Phase::trace};
      const ReportOptions options = chosen({std::string(one->option), std::string(other->option)});
      CHECK(wrong_combination(options).empty() == !wrong);
    }
  }
}

TEST_CASE("a report that needs another one says so") {
  for (const Report* report : reports()) {
    if (!report->needs) continue;
    const std::string option(report->option), needed(report->needs->option);
    CHECK(wrong_combination(chosen({option})) == report->missing);
    CHECK(wrong_combination(chosen({option, needed})).empty());
  }
}

TEST_CASE("the first rows are asked for where there are some to leave out") {
  const auto with_top = [](std::set<std::string> options) {
    ReportOptions all = chosen(std::move(options));
    all.top = 3;
    return wrong_combination(all).empty();
  };
  CHECK(with_top({"print-gpu-summary"}));
  CHECK_FALSE(with_top({"print-gpu-trace"}));
  CHECK(with_top({"print-gpu-trace", "print-nvtx-summary"}));
  CHECK(with_top({"print-gpu-trace", "dependency-analysis"}));
  CHECK_FALSE(with_top({"print-gpu-trace", "print-pci-topology"}));
}

TEST_CASE("a run collects what its reports need") {
  CHECK_FALSE(collected_for({}).all_calls);
  CHECK_FALSE(collected_for(chosen({"print-gpu-trace"})).all_calls);
  CHECK(collected_for(chosen({"print-gpu-trace", "print-api-trace"})).all_calls);
  CHECK(collected_for(chosen({"print-api-summary"})).all_calls);
  CHECK_FALSE(collected_for(chosen({"print-api-summary"})).dependencies);
  CHECK(collected_for(chosen({"dependency-analysis"})).dependencies);
}
