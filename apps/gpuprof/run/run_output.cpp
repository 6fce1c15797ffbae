#include "apps/gpuprof/run/run_output.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/memory/tables.hpp"
#include "libprof/read/profile.hpp"
#include "libprof/record/trace_selection.hpp"
#include "libprof/report/memory.hpp"
#include "schema/activity/all.hpp"
#include "schema/serial_kernels.hpp"

namespace gpuprof::app {

const char no_driver_line[] =
    "Warning: unable to locate cuda driver library, GPU profiling skipped";

std::string prefix_of(std::int64_t process) { return "==" + std::to_string(process) + "== "; }

// The command as nvprof prints it.
std::string words(const Options& options) {
  return options.store_command_line ? joined(options.application, " ") : options.application[0];
}

namespace {

using record::Recorder;

void print_run(Recorder& recorder, Log& log, const Options& options, std::int64_t process) {
  log.line(prefix_of(process) + "Profiling application: " + words(options));
  for (store::Loader* loader : recorder.loaders()) {
    store::Database& database = loader->database();
    // A file with one process has that process's id in its prefix.
    const auto only = database.integer("SELECT max(processId) FROM PROCESS HAVING count(*) = 1");
    log.report(database, prefix_of(only.value_or(process)));
  }
}

std::string_view why_empty(std::string_view table, const Options& options) {
  const bool serial = !options.trace.concurrent_kernels || !options.metrics.requests.empty();
  const auto kind = std::ranges::find(schema::kinds, table,
                                      [](const schema::KindRef& each) { return each.info->table; });
  return serial && kind != schema::kinds.end() && schema::needs_concurrent_kernels(*kind->info)
             ? "CUPTI does not deliver it while kernels run one at a time"
             : "this CUPTI, or the device, does not deliver it";
}

// Prints what was requested by name but is unavailable here.
void print_unavailable(Recorder& recorder, Log& log, const Options& options) {
  for (store::Loader* loader : recorder.loaders()) {
    std::map<std::string_view, std::vector<std::string>> empty;
    for (const std::string& table : record::tables_asked_for(options.trace)) {
      auto unavailable = loader->database().prepare(
          "SELECT 1 FROM STATISTIC WHERE name = 'kind_unavailable' AND value > 0 AND kind = ?1");
      if (!unavailable.bind(1, std::string_view(table)).step()) continue;
      empty[why_empty(table, options)].push_back(table);
    }
    for (const auto& [why, tables] : empty) {
      log.say(joined(tables, ", ") + (tables.size() == 1 ? " stays empty: " : " stay empty: ") +
              std::string(why));
    }
  }
}

// Prints why nothing was recorded, as far as known; nvprof's words if the driver is missing.
void print_nothing_captured(Log& log, bool driver, bool report) {
  if (driver) {
    log.say(
        "no CUDA activity was captured: the program did not use CUDA, or ended before its first "
        "call");
    return;
  }
  log.line(std::string("======== ") + no_driver_line);
  if (report) log.line("======== Warning: No profile data collected.");
}

// Unmeasured launches of the first run, by reason.
std::string launches_passed_over(Recorder& recorder) {
  constexpr std::pair<const char*, const char*> reasons[] = {
      {"metrics_skipped_graph", "CUDA graphs"},
      {"metrics_skipped_capture", "captured into graphs"},
      {"metrics_skipped_excluded", "left out because they may wait for others"},
      {"metrics_skipped_failed", "where measuring had failed"},
      {"metrics_skipped_unanswered", "before it was known whether they are meant"},
  };
  std::string text;
  for (const auto& [statistic, reason] : reasons) {
    std::int64_t launches = 0;
    for (store::Loader* loader : recorder.loaders()) {
      auto sum = loader->database().prepare("SELECT sum(value) FROM STATISTIC WHERE name = ?1");
      if (sum.bind(1, std::string_view(statistic)).step()) launches += sum.integer(0);
    }
    if (launches == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(launches) + " " + reason;
  }
  return text;
}

void print_metrics(const MetricSession& metrics, Recorder& recorder, Log& log) {
  const std::string missing = unmeasured(metrics, recorder);
  log.say("metrics: " + std::to_string(metrics.ranges()) + " measurements of launches" +
          (missing.empty() ? "" : "; " + missing));
}

void print_not_counted(Recorder& recorder, Log& log) {
  const std::string others = launches_passed_over(recorder);
  if (!others.empty()) log.say("launches whose instructions were not counted: " + others);
}

// Prints why the program may have failed, and what owned the memory.
void print_out_of_memory(Recorder& recorder, Log& log) {
  for (store::Loader* loader : recorder.loaders()) {
    store::Database& database = loader->database();
    if (!database.prepare("SELECT 1 FROM main.MEMORY_CALL WHERE result = 2 LIMIT 1").step()) {
      continue;
    }
    reading::Profile profile(database, {}, reading::NameStyle::modern, [](std::string_view) {});
    const std::string text = report::out_of_memory_text(memory::account(profile, {}, [] {}));
    if (!text.empty()) log.say(text);
  }
}

}  // namespace

std::string unmeasured(const MetricSession& metrics, Recorder& recorder) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (metrics.mismatched() > 0) {
    add(std::to_string(metrics.mismatched()) +
        " were of other launches than in the first run and were not joined (view metric_gaps)");
  }
  if (const auto names = metrics.without_numbers(); !names.empty()) {
    add("no numbers from this device for " + joined(names, ", "));
  }
  if (metrics.names_given_up() > 0) {
    add(std::to_string(metrics.names_given_up()) +
        " names took too long to search for what was asked for, and count as others");
  }
  const std::string others = launches_passed_over(recorder);
  if (!others.empty()) add("launches that were not measured: " + others);
  return text;
}

void print_results(const Results& results, const Options& options, Log& log) {
  const bool quiet = options.quiet;
  if (results.run.processes_seen() > 0) {
    if (!quiet) print_unavailable(results.recorder, log, options);
    if (options.trace.memory && !quiet) print_out_of_memory(results.recorder, log);
    if (results.metrics && !quiet) print_metrics(*results.metrics, results.recorder, log);
    if (!options.sass.launches.empty() && !quiet) {
      print_not_counted(results.recorder, log);
    }
    if (results.report) print_run(results.recorder, log, options, results.target.process);
  } else if (const std::size_t cut = results.run.processes_cut_off(); cut > 0) {
    if (!quiet) log.say("no CUDA activity was captured: " + record::cut_off(cut));
  } else if (!quiet) {
    print_nothing_captured(log, driver_found(), results.report);
  }
}

void print_exit(const TargetEnd& target, Log& log) {
  if (target.exit_code == 0) return;
  log.line(std::string("======== Error: Application ") +
           (WIFSIGNALED(target.status) ? "received signal " : "returned non-zero code ") +
           std::to_string(target.exit_code));
}

}  // namespace gpuprof::app
