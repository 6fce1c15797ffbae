// gpuprof export: a profile for another tool.
#include <memory>

#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/export/for_nvprof.hpp"

namespace gpuprof::app {
namespace {

struct Arguments {
  ExcerptJob job;
  std::string tool;
};

int run(Arguments& arguments) {
  if (arguments.tool != "nvprof") {
    throw Error("there is no export for \"" + arguments.tool + "\"",
                "--for takes nvprof, for nvprof 11.8 and the Visual Profiler",
                ExitCode::bad_option);
  }
  ExcerptJob& job = arguments.job;
  job.options.change = exporting::make_readable_for_nvprof;
  job.options.command = shell_line({"gpuprof", "export", job.input, "--for", arguments.tool});
  return write_excerpt(job);
}

std::function<int()> declare(Grammar& grammar) {
  auto arguments = std::make_shared<Arguments>();
  ExcerptJob& job = arguments->job;
  grammar.take({.name = "profile",
                .to = &job.input,
                .help = "The profile to export",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--for",
                .to = &arguments->tool,
                .help = "The tool that is to read it: nvprof (11.8, and its Visual Profiler)",
                .placeholder = "TOOL",
                .required = true});
  take_file_options(grammar, job);
  grammar.require("export-profile");
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Subcommand export_command{
    .name = "export",
    .usage = "FILE --for nvprof -o FILE",
    .help = "Write a profile that nvprof 11.8 and the Visual Profiler read right",
    .declare = declare,
    .values = [](std::string_view) -> std::vector<std::string> { return {"nvprof"}; },
};

}  // namespace gpuprof::app
