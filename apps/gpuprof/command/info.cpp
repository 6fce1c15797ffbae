// gpuprof info: what is in a file.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/report/contents.hpp"

namespace gpuprof::app {
namespace {

struct Arguments {
  std::string file;
  bool json = false;
  report::ContentsOptions options;
};

int info(const Arguments& arguments) {
  reading::ProfileFile file(arguments.file);
  if (file.size() < 0) throw *file.problem();
  Progress progress;
  const auto contents = report::read_contents(file, arguments.file, arguments.options,
                                              [&](std::string_view what) { progress.show(what); });
  progress.clear();
  if (arguments.json) {
    std::cout << contents.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    report::print_contents(contents);
  }
  std::cout.flush();
  if (file.problem()) throw *file.problem();
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

std::function<int()> declare(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("file", arguments->file, "A profile")->required()->option_text("FILE");
  app.add_flag("--json", arguments->json, "One JSON document");
  app.add_flag("--exact", arguments->options.exact,
               "Read all of a file above 512 MiB, to count records and find times");
  return [arguments] { return info(*arguments); };
}

}  // namespace

extern const Subcommand info_command{
    .name = "info",
    .usage = "FILE [--json]",
    .help = "Say what is in a profile: run, devices, records, losses",
    .declare = declare,
};

}  // namespace gpuprof::app
