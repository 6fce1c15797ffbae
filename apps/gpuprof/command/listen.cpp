// Records the process that started it. The process loads the collector itself: on standard output
// it is told where that is and where to connect, on standard input it says that it is connected.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/text.hpp"
#include "libprof/launch/end_requests.hpp"
#include "libprof/launch/installation.hpp"
#include "libprof/launch/target.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/run_info.hpp"
#include "libprof/record/trace_selection.hpp"

namespace gpuprof::app {
namespace {

struct Job {
  Options options;
  std::string process;
};

std::vector<std::string> command_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// Tells where to connect. False: the process ends, or could not connect.
bool hand_over(const record::Run& run, const std::string& collector) {
  const nlohmann::json places{{"socket", run.socket_path()}, {"collector", collector}};
  std::cout << places.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << std::endl;
  std::string answer;
  return std::getline(std::cin, answer) && answer == "connected";
}

int listen(Job& job) {
  Options& options = job.options;
  const auto process = parse<std::int64_t>(job.process);
  const pid_t parent = getppid();
  if (!process || *process != parent) {
    throw Error("listen records the process that starts it, which is " + std::to_string(parent),
                "gpuprof.trace() of the Python package starts it", ExitCode::bad_option);
  }
  if (options.output.empty()) {
    throw Error("listen needs -o FILE", "", ExitCode::bad_option);
  }
  const record::TraceSelection selection = record::select_trace(options.trace);
  const std::string collector = collector_library();
  signal(SIGPIPE, SIG_IGN);
  launch::Target target;  // holds signals back; nothing is started
  launch::EndRequests ends(options.quiet);
  ends.listen(2);  // the first ends the recording
  Log log(options, false, parent);
  const record::Say say = [&log](const std::string& text) { log.say(text); };
  record::Recorder recorder(recorder_options(options, options.output, log, ends, say, {}));
  record::Run::Common common{.target = target,
                             .ends = ends,
                             .recorder = recorder,
                             .say = say,
                             .conversion = {},
                             .folder = folder_of(options.output),
                             .command = {},
                             .collector = collector,
                             .runtimes = {}};
  const std::string cupti = joined(launch::collector_cupti_candidates(options.cupti), "\n");
  record::Run run(common, {.config = collector_config(options, selection, cupti),
                           .salvage_program = launch::library_folder() / "gpuprof-salvage",
                           .message = [&log](std::int64_t id, const std::string& text) {
                             log.say_of(id, text);
                           }});
  run.push(record::begin_of_run(run_info(options, selection, command_of(parent))));
  if (!hand_over(run, collector)) return static_cast<int>(ExitCode::nothing_recorded);
  run.begin();
  while (!run.is_over() && getppid() == parent && ends.asked() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (ends.asked() == 0) run.wait_for_the_others();
  run.stop_listening();
  run.push(record::end_of_run());
  const bool whole = run.end();
  run.count_losses();
  recorder.finish();
  if (!options.quiet) print_outcome(recorder, log);
  return whole && !recorder.failed() ? 0 : static_cast<int>(ExitCode::output_failed);
}

std::function<int()> declare(Grammar& grammar) {
  auto job = std::make_shared<Job>();
  grammar.take({.name = "process",
                .to = &job->process,
                .help = "The process that starts gpuprof",
                .required = true});
  grammar.take_options(job->options,
                       {"trace", "profile-from-start", "profile-api-trace",
                        "kernel-latency-timestamps", "flush-period", "activity-buffers", "cupti",
                        "no-command-line", "process-name", "context-name", "stream-name"});
  grammar.take_output_options(job->options);
  grammar.require("export-profile");
  return [job] { return listen(*job); };
}

}  // namespace

extern const Subcommand listen_command{
    .name = "listen",
    .usage = "-o FILE PROCESS",
    .help = "Record the process that starts it: Python's gpuprof.trace()",
    .declare = declare,
};

}  // namespace gpuprof::app
