// Options for single instructions: PC sampling and SASS metrics.
#include <algorithm>
#include <span>

#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/text.hpp"
#include "schema/sass_metrics.hpp"

namespace gpuprof::app {
namespace {

std::optional<Refusal> set_period(Options& options, const std::string& value) {
  const auto period = parse<int>(value);
  if (!period || *period < 5 || *period > 31) return Refusal{.takes = "a number from 5 to 31"};
  options.pc_sampling.period = *period;
  return {};
}

std::optional<Refusal> set_reasons(Options& options, const std::string& value) {
  const auto fits = [](char c) { return c == '_' || c == ',' || (c >= 'a' && c <= 'z'); };
  if (!std::ranges::all_of(value, fits)) {
    return Refusal{.takes = "names such as long_scoreboard, with commas between, or all"};
  }
  options.pc_sampling.reasons = value == "all" ? "" : value;
  return {};
}

std::string names_of_analyses() {
  std::string names;
  for (const schema::SourceAnalysis& analysis : schema::source_analyses) {
    names += std::string(analysis.name) + ", ";
  }
  return names + "pc_sampling";
}

void turn_on(Options& options, const schema::SourceAnalysis& analysis) {
  const auto count = [&](std::span<const std::string_view> metrics) {
    for (const std::string_view metric : metrics) {
      if (std::ranges::find(options.sass.metrics, metric) == options.sass.metrics.end()) {
        options.sass.metrics.emplace_back(metric);
      }
    }
  };
  options.trace.modules = options.trace.counts_instructions = true;
  count(schema::sass::every);
  count(analysis.metrics);
}

// Counts the launches chosen before individually.
void count_launches(Options& options) {
  if (options.metrics.scope.chooses()) options.sass.launches.push_back(options.metrics.scope);
}

// nvprof's option for either.
std::optional<Refusal> set_analysis(Options& options, const std::string& value) {
  for (const std::string& word : split(value, ',')) {
    const auto analysis =
        std::ranges::find(schema::source_analyses, word, &schema::SourceAnalysis::name);
    if (word == "pc_sampling") {
      turn_pc_sampling_on(options);
    } else if (analysis != schema::source_analyses.end()) {
      turn_on(options, *analysis);
    } else {
      return Refusal{.takes = names_of_analyses()};
    }
  }
  if (!options.sass.metrics.empty()) count_launches(options);
  return {};
}

}  // namespace

void turn_pc_sampling_on(Options& options) {
  options.pc_sampling.on = true;
  options.trace.modules = true;
}

void turn_sass_metrics_on(Options& options) {
  if (!options.sass.metrics.empty()) return;
  for (const schema::SourceAnalysis& analysis : schema::source_analyses) turn_on(options, analysis);
  count_launches(options);
}

std::vector<Option> pc_sampling_options() {
  return {
      {.name = "pc-sampling",
       .help = "Sample at which instructions the GPU's warps are, and what they wait for\n"
               "In addition to tracing. Needs the same rights as --metrics, and cannot be combined "
               "with them.\nSource lines are known for code that was compiled with -lineinfo.",
       .is = ours,
       .set = flag(turn_pc_sampling_on)},
      {.name = "pc-sampling-period",
       .argument = "5..31",
       .help =
           "Cycles between PC samples, as a power of two (8 times CUPTI's choice for the device)",
       .alias = "pc-period",
       .set = set_period},
      {.name = "pc-stall-reasons",
       .argument = "LIST",
       .help = "What to sample warps waiting for, by CUPTI's names without the common part (all)",
       .is = ours,
       .set = set_reasons},
      {.name = "pc-serialize",
       .help = "Run kernels one at a time while they are sampled\n"
               "Samples are then distinguished by launch. CUDA graphs have none.",
       .is = ours,
       .set = flag([](Options& options) {
         options.pc_sampling.serialize = true;
         options.trace.concurrent_kernels = false;
       })},
      {.name = "pc-buffer",
       .argument = "MB",
       .help = "Memory of the device for PC samples that were not read yet (512)",
       .is = ours,
       .set = number(1, 65'536, [](Options& o) -> int& { return o.pc_sampling.buffer_mb; })},
      {.name = "source-level-analysis",
       .letter = 'a',
       .argument = "LIST",
       .help = "Count what each instruction does: global_access, shared_access, branch, "
               "instruction_execution\nCUPTI adds code to the kernels, which makes them slower; "
               "kernels and copies are not traced then. All launches are counted together; after "
               "--kernels, --launch-skip or --launch-count (as for --metrics; --kernels . is all) "
               "each chosen one on its own, while others wait. Needs the same rights as --metrics. "
               "pc_sampling: as --pc-sampling.",
       .is = not_with_import,
       .set = set_analysis},
  };
}

}  // namespace gpuprof::app
