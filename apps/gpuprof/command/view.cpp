// gpuprof view: a run as a timeline in a browser, or two side by side.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/view/server.hpp"

extern char** environ;

namespace gpuprof::app {
namespace {

struct Arguments {
  std::string file, other, port;
  bool no_browser = false;
};

std::uint16_t parse_port(const std::string& word) {
  if (word.empty()) return 0;
  const auto port = parse<std::uint16_t>(word);
  if (port && *port > 0) return *port;
  throw Error("--port takes a number from 1 to 65535", "", ExitCode::bad_option);
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value && *value) return true;
  }
  return false;
}

// Where there is none, the address that was printed is enough.
pid_t open_browser(const std::string& address) {
  std::string program = "xdg-open", argument = address;
  char* const words[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  return posix_spawnp(&child, "xdg-open", nullptr, nullptr, words, environ) == 0 ? child : 0;
}

void print_address(const view::Listener& listener) {
  const std::string port = std::to_string(listener.port());
  char host[256] = "HOST";
  gethostname(host, sizeof host - 1);
  std::printf("%s\n", listener.address().c_str());
  std::printf(
      "From another machine: ssh -L %s:127.0.0.1:%s %s, then open the same address there.\n",
      port.c_str(), port.c_str(), printable(host).c_str());
  std::printf("Ctrl-C ends it.\n");
  std::fflush(stdout);
}

void answer(const Arguments& arguments, std::uint16_t port, const std::deque<view::Run>& runs) {
  for (const view::Run& run : runs) {
    for (const std::string& note : run.notes) {
      std::fprintf(stderr, "gpuprof: %s\n", printable_lines(note).c_str());
    }
  }
  view::Listener listener(port);
  print_address(listener);
  const pid_t browser =
      !arguments.no_browser && has_display() ? open_browser(listener.address()) : 0;
  listener.serve(view::Answers(runs), &Progress::is_interrupted);
  if (browser > 0) waitpid(browser, nullptr, WNOHANG);
}

// The file is let go of once it has been read: who writes to it cannot end while another has it
// open. Details open it again, but what could be read of a damaged one is in a copy that lives as
// long as the file is open.
std::unique_ptr<reading::ProfileFile> read(const std::string& path,
                                           const std::vector<view::Name>& names, Progress& progress,
                                           view::Run& run) {
  auto file = std::make_unique<reading::ProfileFile>(path);
  if (file->problem()) throw Error(*file->problem());
  const auto show = [&](std::string_view what) { progress.show(what); };
  file->read(
      [&](store::Database& database) {
        database.watch(&Progress::is_interrupted);
        const auto check = [&](std::string_view what) {
          show(what);
          database.check_watch();
        };
        run.model = view::read_model(database, check, names);
        run.stops = view::find_stops(database, run.model);
      },
      show);
  progress.clear();
  run.title = std::filesystem::path(path).filename();
  run.notes = file->notes();
  if (file->damaged()) {
    run.find_details = [&run, &database = file->database()](const view::Item& item) {
      return view::details(database, run.model, item);
    };
    return file;
  }
  run.find_details = [&run, path](const view::Item& item) {
    std::vector<view::Detail> details;
    reading::ProfileFile again(path);
    again.read(
        [&](store::Database& database) { details = view::details(database, run.model, item); });
    return details;
  };
  return nullptr;
}

int serve(const Arguments& arguments) {
  const std::uint16_t port = parse_port(arguments.port);
  Progress progress;
  std::deque<view::Run> runs;
  std::vector<std::unique_ptr<reading::ProfileFile>> damaged;
  std::vector<view::Name> names;
  try {
    for (const std::string& path : {arguments.file, arguments.other}) {
      if (path.empty()) continue;
      damaged.push_back(read(path, names, progress, runs.emplace_back()));
      names = runs.back().model.names;
    }
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    return 128 + Progress::interrupted();
  }
  if (runs.size() == 2 && runs[0].title == runs[1].title) {
    runs[0].title = arguments.file;
    runs[1].title = arguments.other;
  }
  answer(arguments, port, runs);
  return 0;
}

std::function<int()> declare(Grammar& grammar) {
  auto arguments = std::make_shared<Arguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile, also one that is being written or is damaged",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "other",
                .to = &arguments->other,
                .help = "Another profile, to be shown below and compared with it",
                .placeholder = "OTHER"});
  grammar.take({.name = "--port",
                .to = &arguments->port,
                .help = "Port of 127.0.0.1; one that is free unless given",
                .placeholder = "N"});
  grammar.take({.name = "--no-browser",
                .to = &arguments->no_browser,
                .help = "Open no browser; none is opened either where there is no display"});
  grammar.footer(
      "\nThe address that is printed has a random part: who does not know it gets nothing. Nothing "
      "leaves\nthis machine, and files are never changed. docs/view.md has keys and what is "
      "drawn.");
  return [arguments] { return serve(*arguments); };
}

}  // namespace

extern const Subcommand view_command{
    .name = "view",
    .usage = "FILE [OTHER]",
    .help = "Show one run or two as a timeline in a browser",
    .declare = declare,
};

}  // namespace gpuprof::app
