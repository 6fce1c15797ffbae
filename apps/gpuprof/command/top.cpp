// gpuprof top: the state of a recording, in a terminal.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/error.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/terminal/top.hpp"

namespace gpuprof::app {
namespace {

using Clock = std::chrono::steady_clock;

struct TopArguments {
  std::string file, every, times, rows;
};

struct Plan {
  double every = 1;        // seconds
  std::int64_t times = 0;  // 0: until the run ends
  std::size_t rows = 15;
};

Plan parse_plan(const TopArguments& arguments) {
  Plan plan;
  if (!arguments.every.empty()) {
    const auto every = parse<double>(arguments.every);
    if (!every || !(*every >= 0.05 && *every <= 3600)) {
      throw Error("--every takes seconds from 0.05 to 3600", "", ExitCode::bad_option);
    }
    plan.every = *every;
  }
  if (!arguments.times.empty()) {
    plan.times = parse<std::int64_t>(arguments.times).value_or(0);
    if (plan.times < 1) throw Error("--times takes a number from 1 on", "", ExitCode::bad_option);
  }
  if (!arguments.rows.empty()) {
    const auto rows = parse<std::size_t>(arguments.rows);
    if (!rows || *rows < 1 || *rows > 1000) {
      throw Error("--rows takes a number from 1 to 1000", "", ExitCode::bad_option);
    }
    plan.rows = *rows;
  }
  return plan;
}

// The recorder cannot finish while another process has the file open, so it is reopened each time.
int follow(const TopArguments& arguments) {
  const Plan plan = parse_plan(arguments);
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
        top.read(database, plan.rows);
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
                << terminal::text(top, title, seconds, line_width(60, 1000));
    });
    if (code != 0) return code;
    if (!goes_on) return tell_notes(*file);
    if (time == plan.times) return 0;
    file.reset();
    const auto until = now + std::chrono::duration<double>(plan.every);
    while (Clock::now() < until) {
      if (Progress::is_interrupted()) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

std::function<int()> declare_top(Grammar& grammar) {
  auto arguments = std::make_shared<TopArguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile, best one that is being written",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--every",
                .to = &arguments->every,
                .help = "Look again after this time; 1 unless given",
                .placeholder = "SECONDS"});
  grammar.take({.name = "--times",
                .to = &arguments->times,
                .help = "Look so often; until the run is over unless given",
                .placeholder = "N"});
  grammar.take({.name = "--rows",
                .to = &arguments->rows,
                .help = "Names of kernels, copies and sets; 15 unless given",
                .placeholder = "N"});
  grammar.footer("\nCtrl-C ends it, and nothing else. A run that is over is shown once.");
  return [arguments] { return follow(*arguments); };
}

}  // namespace

extern const Subcommand top_command{
    .name = "top",
    .usage = "FILE [--every SECONDS]",
    .help = "Follow a running recording: its kernels, rates, losses",
    .declare = declare_top,
};

}  // namespace gpuprof::app
