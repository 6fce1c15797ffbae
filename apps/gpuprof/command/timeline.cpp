// gpuprof timeline: GPU utilization over time, in a terminal.
#include <algorithm>
#include <iostream>
#include <memory>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/window_words.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/error.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/terminal/timeline.hpp"

namespace gpuprof::app {
namespace {

constexpr std::size_t narrowest = 60, widest = 1000;

struct TimelineArguments {
  std::string file;
  WindowWords words;
  std::string width, streams;
  bool ascii = false;
};

std::size_t number(const std::string& option, const std::string& value, std::size_t least,
                   std::size_t most) {
  const auto parsed = parse<std::size_t>(value);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  throw Error(
      option + " takes a number from " + std::to_string(least) + " to " + std::to_string(most), "",
      ExitCode::bad_option);
}

int show(TimelineArguments arguments) {
  terminal::Options options;
  arguments.words.parse(options.from, options.to);
  if (!arguments.streams.empty()) options.streams = number("--streams", arguments.streams, 0, 256);
  const std::size_t width = arguments.width.empty()
                                ? line_width(narrowest, widest)
                                : number("--width", arguments.width, narrowest, widest);
  options.columns = width - terminal::margin();
  reading::ProfileFile file(arguments.file);
  Progress progress;
  terminal::Timeline timeline;
  try {
    file.read(
        [&](store::Database& database) {
          database.watch(&Progress::is_interrupted);
          timeline = terminal::read(database, options, [&] {
            progress.show("reading");
            database.check_watch();
          });
        },
        [&](std::string_view what) { progress.show(what); });
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  progress.clear();
  const int code = print_to_standard_output(
      [&] { std::cout << terminal::text(timeline, has_unicode() && !arguments.ascii); });
  if (code != 0) return code;
  return tell_notes(file);
}

std::function<int()> declare_timeline(Grammar& grammar) {
  auto arguments = std::make_shared<TimelineArguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile, also one that is being written",
                .placeholder = "FILE",
                .required = true});
  arguments->words.take(grammar,
                        "Show the time from here on, counted from the run's first record: 1.5 or "
                        "1.5s, 20ms, 7us, 12ns; nvtx:NAME: where the first NVTX range of that name "
                        "begins, and with --to where it ends",
                        "Show the time before this");
  grammar.take({.name = "--streams",
                .to = &arguments->streams,
                .help = "Lines for the busiest streams of each GPU; 8 unless given",
                .placeholder = "N"});
  grammar.take({.name = "--width",
                .to = &arguments->width,
                .help = "Characters of a line; the terminal's unless given, or 120",
                .placeholder = "N"});
  grammar.take({.name = "--ascii", .to = &arguments->ascii, .help = "No Unicode characters"});
  grammar.footer(
      "\nA character is a span of time, and its height how much of it the GPU or the stream was "
      "busy;\na blank means idle. The share of all the time shown is before it. NVTX ranges are "
      "those of the\nthread whose outermost ranges took most time; a dot is a range, or several, "
      "too short for a\nname. gpuprof query FILE gpu_gaps has the gaps in numbers.");
  return [arguments] { return show(*arguments); };
}

}  // namespace

extern const Subcommand timeline_command{
    .name = "timeline",
    .usage = "FILE [--nvtx NAME]",
    .help = "Draw in the terminal how busy GPUs and streams were over time",
    .declare = declare_timeline,
};

}  // namespace gpuprof::app
