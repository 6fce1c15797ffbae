#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/option_table.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run_info.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {
namespace {

int replay(Options& options) {
  if (const std::string wrong = report::wrong_combination(options.reports); !wrong.empty()) {
    throw NvprofError{{"Error: " + wrong}, ExitCode::bad_option};
  }
  wire::CaptureReader capture(options.input);
  Log log(options, true, getpid());
  std::optional<TemporaryFolder> temporary;
  if (options.output.empty()) temporary.emplace();
  std::optional<ProgressLine> line;  // at the end
  record::Recorder recorder(
      {.output = temporary ? *temporary / "run.sqlite" : options.output,
       .files = {.overwrite = options.overwrite,
                 .mode = options.file_mode,
                 .inputs = {options.input}},
       .loader = {.live = false,
                  .indexes = options.indexes,
                  .message = [&log](std::int64_t process,
                                    const std::string& text) { log.say_of(process, text); },
                  .progress =
                      [&line](std::string_view what) {
                        if (line) line->show(what);
                      }},
       .capture = {}});
  const bool progress = isatty(2) && !options.quiet && capture.size() > (64u << 20);
  int shown = -1;
  wire::Frame frame;
  while (capture.next(frame)) {
    recorder.take(std::move(frame));
    const int percent = static_cast<int>(100 * capture.bytes_read() / capture.size());
    if (progress && percent != shown) {
      shown = percent;
      std::fprintf(stderr, "\rloading %3d %%", percent);
    }
  }
  if (progress) std::fprintf(stderr, "\r             \r");
  const bool whole = capture.whole();
  if (!whole) {
    recorder.count("frames_malformed", std::max<std::uint64_t>(1, capture.damage().frames));
  }
  if (!options.step.empty()) recorder.take(record::step_of_run(options.step));
  if (!options.quiet) line.emplace();
  recorder.finish();
  line.reset();
  if (!whole) log.say(capture.damage_text());
  bool read = true;
  if (!options.quiet && (temporary || !options.reports.chosen.empty())) {
    for (store::Loader* loader : recorder.loaders()) {
      read &= log.report(loader->database(), options.reports.prefix);
    }
  }
  if (!options.quiet && !temporary) print_outcome(recorder, log);
  if (!read) return static_cast<int>(ExitCode::reader_gone);
  return whole ? 0 : static_cast<int>(ExitCode::import_failed);
}

void declare_replay(Grammar& grammar, Options& options) {
  grammar.take_file("capture", options.input, "A file made with --save-capture");
  grammar.take_output_options(options);
  grammar.take_report_options(options);
}

}  // namespace

extern const Subcommand replay_command{
    .name = "replay",
    .usage = "FILE [-o FILE]",
    .help = "Load a capture made with --save-capture, or print its reports",
    .declare = command<Options, declare_replay, replay>,
};

}  // namespace gpuprof::app
