// What the launcher says about a run: as it starts, and when it is over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "libprof/launch/target.hpp"
#include "libprof/record/run.hpp"

namespace gpuprof::app {

// nvprof's line where there is no driver, without its prefix.
extern const char no_driver_line[];

// "==1234== ".
std::string prefix_of(std::int64_t process);
// As nvprof prints a command.
std::string words(const Options& options);

// How a target ended, and which it was; the next run of it is another.
struct TargetEnd {
  pid_t process;
  int status;
  int exit_code;

  explicit TargetEnd(const launch::Target& target)
      : process(target.process()), status(target.status()), exit_code(target.exit_code()) {}
};

struct Results {
  record::Recorder& recorder;    // finished
  const record::Run& run;        // the first one, ended
  const MetricSession* metrics;  // null: none
  TargetEnd target;
  bool report;  // reports were asked for, or there is nowhere else to look
};

// What metrics were not measured of, and why; empty: of nothing that was asked for.
std::string unmeasured(const MetricSession& metrics, record::Recorder& recorder);
// Why nothing came, or what could not be had, what was measured, and the reports.
void print_results(const Results& results, const Options& options, Log& log);
// As nvprof's last line.
void print_exit(const TargetEnd& target, Log& log);

}  // namespace gpuprof::app
