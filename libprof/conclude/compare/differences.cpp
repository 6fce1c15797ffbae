#include "libprof/conclude/compare/differences.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "libprof/base/text.hpp"

namespace gpuprof::compare {
namespace {

class Differences {
 public:
  Differences(const Comparison& sides, std::vector<Difference>& found)
      : sides_(sides), found_(found) {}

  // `common`: see common_share().
  void find(double common) {
    facts("the GPUs", true, [](const Run& run) { return run.devices; });
    facts("the number of GPUs at work", true,
          [](const Run& run) { return std::to_string(run.device_count); });
    facts("the number of processes", true,
          [](const Run& run) { return run.processes ? std::to_string(run.processes) : ""; });
    facts("whether there are steps", true,
          [](const Run& run) { return std::string(run.steps > 0 ? "yes" : "no"); });
    facts("the driver", false, [](const Run& run) { return run.driver; });
    facts("CUPTI", false,
          [](const Run& run) { return run.cupti ? std::to_string(run.cupti) : ""; });
    each_run([&](const Run& run) {
      if (run.lost) {
        add(run.file + " lacks records: see gpuprof info", true);
      } else if (run.kernels_without_times > 0) {
        add(run.file + " has " + count_of(run.kernels_without_times, "kernel") + " without times",
            true);
      }
    });
    compare_calibration();
    if (common < least_common) {
      add("kernels that only one side runs take " + percent(1 - common) +
              " of the time of all kernels",
          false);
    }
  }

 private:
  void add(std::string text, bool matters) { found_.push_back({std::move(text), matters}); }

  static std::string percent(double share) {
    return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
  }

  void each_run(const auto& visit) {
    for (const auto* runs : {&sides_.a, &sides_.b}) {
      for (const Run& run : *runs) visit(run);
    }
  }

  // What varies on another GPU says nothing here.
  void compare_calibration() {
    if (sides_.rules.calibration.empty()) return;
    const Run &usual = sides_.rules.calibration.front(), &run = sides_.a.front();
    if (usual.devices != run.devices) {
      add("the floor is of other GPUs: " + usual.devices + ", not " + run.devices, true);
    } else if ((usual.steps > 0) != (run.steps > 0)) {
      add("the floor is of " + std::string(usual.steps > 0 ? "steps" : "whole runs"), true);
    }
  }

  // What is empty is not known.
  void facts(std::string_view what, bool matters, const auto& fact) {
    const Run* first = nullptr;
    each_run([&](const Run& run) {
      const std::string value = fact(run);
      if (value.empty()) return;
      if (!first) {
        first = &run;
      } else if (const std::string before = fact(*first); value != before) {
        add(std::string(what) + ": " + before + " in " + first->file + ", " + value + " in " +
                run.file,
            matters);
      }
    });
  }

  const Comparison& sides_;
  std::vector<Difference>& found_;
};

}  // namespace

double common_share(const std::vector<KernelChange>& kernels) {
  double common = 0, all = 0;
  for (const KernelChange& kernel : kernels) {
    if (kernel.launches_a > 0 && kernel.launches_b > 0 && kernel.was.empty())
      common += kernel.time.a + kernel.time.b;
    all += kernel.time.a + kernel.time.b;
  }
  return all > 0 ? common / all : 1;
}

std::vector<Difference> find_differences(const Comparison& sides, double common) {
  std::vector<Difference> found;
  Differences(sides, found).find(common);
  return found;
}

}  // namespace gpuprof::compare
