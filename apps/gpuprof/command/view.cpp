// gpuprof view: a run as a timeline in a browser, or two runs side by side.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/cluster.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/view/server/browser.hpp"
#include "libprof/view/server/open_run.hpp"
#include "libprof/view/server/opening_runs.hpp"
#include "libprof/view/server/server.hpp"

namespace gpuprof::app {
namespace {

struct ViewArguments {
  std::string file, other;
  std::uint16_t port = 0;  // any
  bool no_browser = false, live = false, end_with_parent = false;
};

using IsOver = std::function<bool()>;

// Whether it takes longer to read than to find out what it is.
bool is_large(const std::string& file) {
  constexpr std::uintmax_t from = std::uintmax_t{100} << 20;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return !error && size >= from;
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value && *value) return true;
  }
  return false;
}

void print_address(const view::Listener& listener) {
  const int port = listener.port();
  char host[256] = "HOST";
  gethostname(host, sizeof host - 1);
  std::cout << listener.address() << "\nFrom another machine: ssh -L " << port
            << ":127.0.0.1:" << port << ' ' << printable(host)
            << ", then open the same address there.\n"
            << "Ctrl-C ends it." << std::endl;
}

void answer(const ViewArguments& arguments, const IsOver& is_over,
            const view::Listener::Answer& answers) {
  view::Listener listener(arguments.port);
  print_address(listener);
  std::optional<view::Browser> browser;
  if (!arguments.no_browser && has_display()) browser.emplace(listener.address());
  const auto arrived = [&](const view::Request& request) {
    if (browser) browser->arrived();
    return answers(request);
  };
  listener.serve(arrived, is_over);
}

void show_files(const ViewArguments& arguments, Progress& progress,
                const view::OpenRun::Options& options) {
  std::vector<std::string> paths{arguments.file};
  if (!arguments.other.empty()) paths.push_back(arguments.other);
  view::OpeningRuns runs(std::move(paths), options);
  // Of most files the address can come with the notes, or an error without an address.
  constexpr std::chrono::milliseconds patience{100}, of_large{10};
  runs.wait(is_large(arguments.file) ? of_large : patience);
  progress.clear();
  const IsOver is_over = [&] {
    for (const std::string& note : runs.take_notes()) say(note);
    return options.interrupted() || runs.failed();
  };
  if (!is_over()) {
    answer(arguments, is_over, [&](const view::Request& each) { return runs(each); });
    // The usual end, even if the rest of the file was still being read.
    if (options.interrupted()) return;
  }
  runs.wait(patience);  // throws why reading ended, if it did not end with the last record
}

void show_live(const ViewArguments& arguments, Progress& progress,
               const view::OpenRun::Options& options) {
  view::LiveRun run(arguments.file, options);
  progress.clear();
  for (const std::string& note : run.notes()) say(note);
  answer(arguments, options.interrupted,
         [&](const view::Request& request) { return run(request); });
}

// All ranks of a store. Returns only by an Error.
int show_store(const ViewArguments& arguments) {
  if (arguments.live || arguments.end_with_parent || !arguments.other.empty()) {
    throw Error("a store of many ranks is shown alone", "gpuprof view STORE", ExitCode::bad_option);
  }
  std::vector<std::string> words{"view", arguments.file};
  if (arguments.port != 0) words.insert(words.end(), {"--port", std::to_string(arguments.port)});
  if (arguments.no_browser) words.emplace_back("--no-browser");
  return run_cluster(words);
}

int serve(ViewArguments& arguments) {
  if (is_store(arguments.file)) return show_store(arguments);
  if (arguments.live && !arguments.other.empty()) {
    throw Error("--live shows one run", "leave the other file out", ExitCode::bad_option);
  }
  const pid_t parent = arguments.end_with_parent ? getppid() : 0;
  const IsOver is_over = [parent] {
    return Progress::is_interrupted() || (parent != 0 && getppid() != parent);
  };
  Progress progress;
  view::OpenRun::Options options{.interrupted = is_over,
                                 .show = [&](std::string_view what) { progress.show(what); }};
  try {
    (arguments.live ? show_live : show_files)(arguments, progress, options);
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  return 0;
}

void declare_view(Grammar& grammar, ViewArguments& arguments) {
  grammar.take_file("file", arguments.file,
                    "A profile, also one that is being written or is damaged, or a store of many "
                    "ranks");
  grammar.take("other", &arguments.other, "Another profile, to be shown below and compared with it",
               "OTHER");
  grammar.take("--live", &arguments.live,
               "Follow a recording: what comes is shown until it is over");
  grammar.take("--end-with-parent", &arguments.end_with_parent,
               "End when the process ends that started this");
  grammar.take("--port", number_to(arguments.port, 1, 65535),
               "Port of 127.0.0.1; one that is free unless given", "N");
  grammar.take("--no-browser", &arguments.no_browser,
               "Do not open a browser; without a display none is opened anyway");
  grammar.footer(
      "\nThe address that is printed has a random part: requests without it are refused. Nothing "
      "leaves\nthis machine, and files are never changed. docs/view.md has keys and what is "
      "drawn.");
}

}  // namespace

extern const Subcommand view_command{
    .name = "view",
    .usage = "FILE [OTHER]",
    .help = "Show one run or two as a timeline in a browser",
    .declare = command<ViewArguments, declare_view, serve>,
};

}  // namespace gpuprof::app
