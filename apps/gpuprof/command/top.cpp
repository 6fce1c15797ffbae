// gpuprof top: the state of a recording, in a terminal.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/error.hpp"
#include "libprof/terminal/top.hpp"

namespace gpuprof::app {
namespace {

using Clock = std::chrono::steady_clock;

struct TopArguments {
  std::string file;
  double every = 1;        // seconds
  std::int64_t times = 0;  // 0: until the run ends
  std::size_t rows = 15;
  std::int64_t hang_after = report::StalledWork::usual_time;
};

Store seconds(double& to) {
  return [&to](const std::string& value) {
    const auto given = parse<double>(value);
    if (!given || !(*given >= 0.05 && *given <= 3600)) return "seconds from 0.05 to 3600";
    to = *given;
    return "";
  };
}

terminal::Style style_of_output() {
  return {.width = line_width(40, 1000),
          .blocks = has_unicode(),
          .colours = isatty(STDOUT_FILENO) == 1 ? colours_of_terminal() : 0};
}

// The recorder cannot finish while another process has the file open, so it is reopened each time.
int follow(TopArguments& arguments) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  Progress progress;
  terminal::Top top;
  std::optional<Clock::time_point> before;
  for (std::int64_t time = 1;; ++time) {
    auto file = std::make_unique<reading::ProfileFile>(arguments.file);
    if (file->problem()) throw Error(*file->problem());
    try {
      file->read([&](store::Database& database) {
        // A copy made after damage starts over.
        if (file->damaged()) top = {};
        database.watch(&Progress::is_interrupted);
        // Of a recording that was killed it is not known how long it lived.
        const bool known = file->in_use() || !file->unfinished();
        top.read(database, arguments.rows, known ? arguments.hang_after : 0);
      });
    } catch (const store::DatabaseError& error) {
      if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
      return 0;
    }
    const bool goes_on = file->in_use() && file->unfinished() && !file->damaged();
    const auto now = Clock::now();
    const double seconds = before ? std::chrono::duration<double>(now - *before).count() : 0;
    before = now;
    const std::string title = arguments.file + (goes_on ? ": recording" : "");
    const int code = print_to_standard_output([&] {
      std::cout << (terminal   ? "\033[H\033[J"
                    : time > 1 ? "\n"
                               : "")
                << terminal::text(top, title, seconds, style_of_output());
    });
    if (code != 0) return code;
    if (!goes_on) return tell_notes(*file);
    if (time == arguments.times) return 0;
    file.reset();
    const auto until = now + std::chrono::duration<double>(arguments.every);
    while (Clock::now() < until) {
      if (Progress::is_interrupted()) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

void declare_top(Grammar& grammar, TopArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, best one that is being written");
  grammar.take("--every", seconds(arguments.every), "Look again after this time; 1 unless given",
               "SECONDS");
  grammar.take("--times", number_to(arguments.times, 1),
               "Look so often; until the run is over unless given", "N");
  grammar.take("--rows", number_to(arguments.rows, 1, 1000),
               "Names of kernels, copies and sets; 15 unless given", "N");
  grammar.take("--hang-after", hang_after(arguments.hang_after),
               "Say what has not ended for this time, 30s unless given, and where its processes "
               "are; 0: do not",
               "TIME");
  grammar.footer("\nCtrl-C ends it, and nothing else. A run that is over is shown once.");
}

}  // namespace

extern const Subcommand top_command{
    .name = "top",
    .usage = "FILE [--every SECONDS]",
    .help = "Follow a running recording: its kernels, rates, losses",
    .declare = command<TopArguments, declare_top, follow>,
};

}  // namespace gpuprof::app
