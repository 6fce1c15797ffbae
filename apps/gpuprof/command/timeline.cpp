// gpuprof timeline: GPU utilization over time, in a terminal.
#include "libprof/terminal/timeline.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"

namespace gpuprof::app {
namespace {

constexpr std::size_t narrowest = 40, widest = 1000;

struct TimelineArguments {
  std::string file;
  Options window;
  std::size_t width = line_width(narrowest, widest);
  terminal::TimelineOptions options;
  bool ascii = false;
};

int show(TimelineArguments& arguments) {
  terminal::TimelineOptions& options = arguments.options;
  options.from = arguments.window.reports.filter.from;
  options.to = arguments.window.reports.filter.to;
  options.columns = arguments.width - terminal::margin(arguments.width);
  terminal::Timeline timeline;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        timeline = terminal::read(open.database, options, [&] { open.show("reading"); });
      },
      [&] {
        std::cout << terminal::text(timeline, arguments.width, has_unicode() && !arguments.ascii);
      });
}

void declare_timeline(Grammar& grammar, TimelineArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take_window(
      arguments.window,
      "Show the time from here on, counted from the run's first record: 1.5 or "
      "1.5s, 20ms, 7us, 12ns; nvtx:NAME: where the first NVTX range of that name "
      "begins, and with --to where it ends. Unless given, what is busy is shown: the "
      "steps without the first, or the part with nearly all of the work",
      "Show the time before this");
  grammar.take("--streams", number_to(arguments.options.streams, 0, 256),
               "Lines for the busiest streams of each GPU; 8 unless given", "N");
  grammar.take("--width", number_to(arguments.width, narrowest, widest),
               "Characters of a line; the terminal's unless given, or 120", "N");
  grammar.take("--ascii", &arguments.ascii, "No Unicode characters");
  grammar.footer(
      "\nA character is a span of time, and its height how much of it the GPU or the stream was "
      "busy;\na blank means idle. The share of all the time shown is before it. NVTX ranges are "
      "those of the\nthread whose outermost ranges took most time; a dot is a range, or several, "
      "too short for a\nname. gpuprof query FILE gpu_gaps has the gaps in numbers.");
}

}  // namespace

extern const Subcommand timeline_command{
    .name = "timeline",
    .usage = "FILE [--nvtx NAME]",
    .help = "Draw in the terminal how busy GPUs and streams were over time",
    .declare = command<TimelineArguments, declare_timeline, show>,
};

}  // namespace gpuprof::app
