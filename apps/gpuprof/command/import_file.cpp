// gpuprof import: makes a profile from another tool's file.
#include <unistd.h>

#include <string>

#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/exchange/import/import.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run_info.hpp"

namespace gpuprof::app {
namespace {

// Records and prints what was not imported.
void tell(record::Recorder& recorder, Log& log, schema::StatisticName statistic,
          const importing::Tally& tally, const std::string& what) {
  if (tally.total() == 0) return;
  recorder.count(statistic, tally.total());
  const std::string text = what + ": " + tally.text();
  recorder.explain(statistic, text);
  log.say(text);
}

int import_file(Options& options) {
  const std::string output = expand_name(options.output, getpid());
  Log log(options, true, getpid());
  Progress progress;
  const auto show = [&](std::string_view what) { progress.show(what); };
  const auto stop = &Progress::is_interrupted;
  record::Recorder recorder(
      {.output = output,
       .files = {.overwrite = options.overwrite,
                 .mode = options.file_mode,
                 .inputs = {options.input}},
       .loader = {.live = false,
                  .indexes = options.indexes,
                  .message = [&log](std::int64_t process,
                                    const std::string& text) { log.say_of(process, text); },
                  .hurried = stop,
                  .progress = show},
       .capture = {}});
  recorder.take(record::import_of_run(options.input));
  if (!options.step.empty()) recorder.take(record::step_of_run(options.step));
  importing::NotImported missing;
  try {
    missing =
        importing::import_file({.path = options.input,
                                .take = [&](wire::Frame frame) { recorder.take(std::move(frame)); },
                                .progress = show,
                                .stop = stop});
  } catch (const importing::Stopped&) {
    return 128 + Progress::interrupted();
  }
  if (!missing.note.empty()) log.say(options.input + ": " + missing.note);
  tell(recorder, log, "import_unreadable", missing.unreadable, "left out, as it makes no sense");
  tell(recorder, log, "import_values_unreadable", missing.values, "values that do not fit");
  tell(recorder, log, "import_left_out", missing.left_out, "left out, as there is no table for it");
  progress.wait_when_interrupted();  // all records are in the file and are kept
  recorder.finish();
  progress.clear();
  if (!options.quiet) print_outcome(recorder, log);
  return 0;
}

void declare_import(Grammar& grammar, Options& options) {
  grammar.take(
      {.name = "file",
       .to = &options.input,
       .help = "What \"nsys export --type sqlite\" or PyTorch's profiler (.json, .json.gz) wrote",
       .placeholder = "FILE",
       .required = true});
  grammar.take_output_options(options);
  grammar.require("export-profile");
  grammar.footer(
      "\n"
      "What the file does not contain is NULL in the profile. Records that make no sense, and "
      "those\n"
      "that gpuprof has no table for, are counted and reported. docs/import.md lists what is "
      "read.");
}

}  // namespace

extern const Subcommand import_file_command{
    .name = "import",
    .usage = "FILE -o FILE",
    .help = "Make a profile of a file of Nsight Systems or PyTorch",
    .declare = command<Options, declare_import, import_file>,
};

}  // namespace gpuprof::app
