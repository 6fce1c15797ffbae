// gpuprof watch-run: the process that a run with --trigger starts for each of its files.
#include <string>
#include <vector>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/run_watch.hpp"
#include "libprof/record/trigger.hpp"

namespace gpuprof::app {
namespace {

struct WatchRunArguments {
  std::string file, triggers;
  bool from_now = false;
};

int watch(WatchRunArguments& arguments) {
  std::vector<record::Trigger> triggers;
  for (const std::string& text : split(arguments.triggers, record::between_triggers)) {
    const auto trigger = record::Trigger::parsed(text);
    if (!trigger) throw Error(text + " is no trigger", record::Trigger::syntax);
    triggers.push_back(*trigger);
  }
  record::watch_run(arguments.file, std::move(triggers), arguments.from_now,
                    &Progress::is_interrupted);
  return 0;
}

void declare_watch_run(Grammar& grammar, WatchRunArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile that is being recorded");
  grammar.take("--triggers", &arguments.triggers, "Those of the run, with 0x1e between",
               "TRIGGERS");
  grammar.take("--from-now", &arguments.from_now, "What is there already does not matter");
}

}  // namespace

extern const Subcommand watch_run_command{
    .name = "watch-run",
    .usage = "FILE",
    .declare = command<WatchRunArguments, declare_watch_run, watch>};

}  // namespace gpuprof::app
