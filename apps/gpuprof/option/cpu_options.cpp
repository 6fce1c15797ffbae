// Options for CPU samples: those that nvprof took, and gpuprof's.
#include <climits>

#include "apps/gpuprof/option/setters.hpp"

namespace gpuprof::app {
namespace {

std::optional<Refusal> set_cpu_mode(Options& options, const std::string& value) {
  using report::CpuMode;
  options.reports.cpu.mode = value == "flat"       ? CpuMode::flat
                             : value == "top-down" ? CpuMode::top_down
                                                   : CpuMode::bottom_up;
  return {};
}

}  // namespace

std::vector<Option> cpu_options() {
  return {
      {.name = "cpu-profiling",
       .argument = "on|off",
       .help = "Sample where the program's threads use the processor, and report it (off)\n"
               "Native functions and those of Python, of processes that use CUDA. With -i it "
               "reports the samples of a file, those of --host-samples too.",
       .set = equals("on", [](Options& o) -> bool& { return o.reports.cpu.of_host; })},
      {.name = "cpu-profiling-mode",
       .argument = "flat|top-down|bottom-up",
       .help = "How the report shows calls (bottom-up)",
       .set = set_cpu_mode},
      {.name = "cpu-profiling-max-depth",
       .argument = "N",
       .help = "Calls of a stack that the report shows (0: all)",
       .set = number(0, INT_MAX, [](Options& o) -> int& { return o.reports.cpu.max_depth; })},
      {.name = "cpu-profiling-percentage-threshold",
       .argument = "0..100",
       .help = "Leave out what has less than this percentage",
       .set =
           [](Options& options, const std::string& value) {
             auto refused = number(0, 100)(options, value);
             if (!refused) options.reports.cpu.threshold = std::stoi(value);
             return refused;
           }},
      {.name = "cpu-profiling-scope",
       .argument = "function|instruction",
       .help = "What counts as one place (function)",
       .set =
           equals("instruction", [](Options& o) -> bool& { return o.reports.cpu.by_instruction; })},
      {.name = "cpu-profiling-show-library",
       .argument = "on|off",
       .help = "Name the library of each place (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.reports.cpu.show_library; })},
      {.name = "cpu-profiling-thread-mode",
       .argument = "separated|aggregated",
       .help = "A report for each thread, or one (aggregated)",
       .set = equals("separated", [](Options& o) -> bool& { return o.reports.cpu.by_thread; })},
      {.name = "cpu-profiling-show-ccff",
       .argument = "on|off",
       .help = "Messages of the compiler in the report; implies scope instruction (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.reports.cpu.show_ccff; })},
      {.name = "cpu-profiling-explain-ccff",
       .argument = "FILE",
       .help = "The PGI compilers' file of explanations",
       .status = Status::no_effect,
       .why = "PGI compilers no longer exist"},
      {.name = "cpu-profiling-frequency",
       .argument = "HZ",
       .help = "Samples per second (100)\nWith -i only printed, for nvprof's samples.",
       .set = number(1, 500, [](Options& o) -> int& { return o.reports.cpu.frequency; })},
      {.name = "cpu-profiling-unwind-stack",
       .argument = "on|off",
       .help = "Report calls around the innermost function (on)",
       .set = equals("off", [](Options& o) -> bool& { return o.reports.cpu.innermost_only; })},
  };
}

}  // namespace gpuprof::app
