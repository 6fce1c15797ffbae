#include "apps/gpuprof/run/measured_runs.hpp"

#include <signal.h>

#include <sstream>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/exit_codes.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/names/demangle.hpp"

namespace gpuprof::app {

std::unique_ptr<MetricSession> prepare_metrics(const Options& options, Log& log) {
  if (options.metrics.requests.empty()) return nullptr;
  try {
    auto session = std::make_unique<MetricSession>(options);
    if (options.metrics.plan) {
      std::istringstream lines(session->plan_text());
      for (std::string line; std::getline(lines, line);) log.say(line);
    } else {
      for (const std::string& note : session->notes()) log.say("metrics: " + note);
    }
    return session;
  } catch (const Error& error) {
    const bool cannot =
        error.exit_code() == ExitCode::no_metrics || error.exit_code() == ExitCode::no_driver;
    if (!cannot || options.metrics.required) throw;
    log.say(error.what() + std::string("; the program is traced without metrics") +
            (error.hint().empty() ? "" : "\n  " + error.hint()));
    return nullptr;
  }
}

void MetricNotices::take(std::int64_t process, std::string_view name, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const std::string who = "process " + std::to_string(process) + ": ";
  if (name == "metrics_hang") {
    hanging_.push_back(text);
    say_(who + "while metrics were measured this did not come back: " + printable(demangled(text)) +
         "; no more metrics are measured in it. If the program does not go on, end it and leave "
         "the kernel out with --metrics-exclude");
  } else if (name == "metrics_error" && told_.insert(text).second) {
    say_(who + "no more metrics: " + printable(text));
  }
}

std::vector<std::string> MetricNotices::hanging() {
  const std::lock_guard lock(mutex_);
  return std::exchange(hanging_, {});
}

void listen_for_metrics(launch::Listener::Options& listening, MetricSession& metrics,
                        MetricNotices& notices) {
  listening.config_for = [&metrics](std::uint32_t stream, const wire::Fields& hello) {
    return metrics.config_for(stream, hello);
  };
  listening.question = [&metrics](const wire::Fields& question, launch::Listener::Reply reply) {
    metrics.answer(question, std::move(reply));
  };
  listening.metrics_notice = [&metrics, &notices](std::int64_t process, std::string_view name,
                                                  const std::string& text) {
    if (name == "metrics_error") metrics.failed();
    notices.take(process, name, text);
  };
}

record::Conversion conversion_for(MetricSession& metrics) {
  return {.convert = [&metrics](wire::Frame frame) { return metrics.take(std::move(frame)); },
          .recorded_stream =
              [&metrics](std::uint32_t stream) { return metrics.recorded_stream(stream); }};
}

namespace {

// Ends a target that hangs because it is measured, to be run again without that. Returns whether it
// did.
bool end_if_hanging(const MeasuredRuns& runs) {
  const std::vector<std::string> kernels = runs.notices.hanging();
  for (const std::string& kernel : kernels) runs.metrics.leave_out(kernel);
  if (kernels.empty()) return false;
  runs.common.say("this run is ended; it is made again without measuring that");
  kill(runs.common.target.process(), SIGKILL);
  return true;
}

// Returns false if it hung and must be repeated.
bool run_again(const MeasuredRuns& runs) {
  constexpr int step_ms = 200;
  launch::Target& target = runs.common.target;
  record::Run run(runs.common, runs.listening);
  run.start(launch::Target::Output::nowhere);
  bool hung = false;
  for (auto left_ms = runs.timeout_ms; !target.wait(step_ms); left_ms -= step_ms) {
    if (left_ms > 0 && left_ms <= step_ms) kill(target.process(), SIGTERM);
    hung |= end_if_hanging(runs);
  }
  run.wait_for_the_others();
  run.end();
  return !hung;
}

}  // namespace

void measure_again(const MeasuredRuns& runs, int first_exit_code) {
  constexpr int most_attempts = 3;
  const record::Run::Common& common = runs.common;
  // What hung in the first run finished, or the program was ended: exclude it from later runs.
  for (const std::string& kernel : runs.notices.hanging()) runs.metrics.leave_out(kernel);
  for (std::size_t run = 1; run < runs.metrics.runs() && !common.ended_by_user(); ++run) {
    const std::string number = std::to_string(run + 1);
    if (runs.progress) {
      common.say("metrics: run " + number + " of " + std::to_string(runs.metrics.runs()));
    }
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      runs.metrics.begin_run(run);
      if (run_again(runs)) break;
    }
    if (common.target.exit_code() != first_exit_code) {
      common.say("metrics: in run " + number + " the program ended with " +
                 std::to_string(common.target.exit_code()) + " and not with " +
                 std::to_string(first_exit_code) + " as before");
    }
  }
}

}  // namespace gpuprof::app
