// What the launcher prints about a run, at its start and at its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/record/run.hpp"

namespace gpuprof::app {

// nvprof's line if there is no driver, without its prefix.
extern const char no_driver_line[];

// "==1234== ".
std::string prefix_of(std::int64_t process);
// The command as nvprof prints it.
std::string words(const Options& options);

// The process of a target and how it ended; each run has another process.
struct TargetEnd {
  pid_t process;
  int status;
  int exit_code;

  explicit TargetEnd(const launch::Target& target)
      : process(target.process()), status(target.status()), exit_code(target.exit_code()) {}
};

struct Results {
  record::Recorder& recorder;    // finished
  const record::Run& run;        // the first run, ended
  const MetricSession* metrics;  // null: none
  TargetEnd target;
  bool report;  // reports were requested, or there is no other output
};

// What the metrics were not measured for, and why; empty if everything requested was measured.
std::string unmeasured(const MetricSession& metrics, record::Recorder& recorder);
// Prints why nothing was recorded or what was unavailable, what was measured, and the reports.
void print_results(const Results& results, const Options& options, Log& log);
// Prints nvprof's last line.
void print_exit(const TargetEnd& target, Log& log);

}  // namespace gpuprof::app
