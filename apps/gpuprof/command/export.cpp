// gpuprof export: a profile for another tool.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/exchange/export/for_nvprof.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/record/output_file.hpp"

namespace gpuprof::app {
namespace {

struct ExportArguments {
  ExcerptJob job;
  std::string tool, format;
  std::vector<std::string> processes;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const exporting::FileFormat* format : exporting::file_formats()) {
    names.emplace_back(format->name);
  }
  return names;
}

int write_for_nvprof(ExportArguments& arguments) {
  ExcerptJob& job = arguments.job;
  const reading::Filter& filter = job.file.reports.filter;
  if (filter.from.given() || filter.to.given() || !filter.kernels.empty() ||
      !filter.devices.empty() || !arguments.processes.empty() || !arguments.format.empty()) {
    throw Error("--for nvprof writes the whole profile, without filters and --format",
                "gpuprof slice writes a part of it first", ExitCode::bad_option);
  }
  job.options.change = exporting::make_readable_for_nvprof;
  job.options.command = shell_line({"gpuprof", "export", job.input, "--for", arguments.tool});
  return write_excerpt(job);
}

const exporting::FileFormat& chosen_format(const ExportArguments& arguments) {
  const std::string& output = arguments.job.file.output;
  const exporting::FileFormat* format = arguments.format.empty()
                                            ? exporting::format_of_file(output)
                                            : exporting::find_format(arguments.format);
  if (format) return *format;
  if (output.ends_with(".parquet")) {
    throw Error("the Python package writes Parquet, a table to a file",
                "in Python: gpuprof.open(\"run.sqlite\").kernels.parquet(\"kernels.parquet\")",
                ExitCode::bad_option);
  }
  std::string endings;
  for (const exporting::FileFormat* each : exporting::file_formats()) {
    endings += (endings.empty() ? "" : ", ") + std::string(each->ending);
  }
  throw Error(is_standard_output(output) ? "-o - does not say which format is wanted"
                                         : "the name after -o does not say which format is wanted",
              (is_standard_output(output) ? "" : "end it with " + endings + ", or ") +
                  std::string("give --format or --for"),
              ExitCode::bad_option);
}

int write_file(ExportArguments& arguments) {
  const Options& file_options = arguments.job.file;
  const std::string& input = arguments.job.input;
  const exporting::FileFormat& format = chosen_format(arguments);
  exporting::ExportOptions options{.filter = file_options.reports.filter};
  options.filter.check = true;
  for (const std::string& word : arguments.processes) {
    const auto process = parse<std::uint32_t>(word);
    if (!process) throw Error("--process takes ids of processes", "", ExitCode::bad_option);
    options.processes.push_back(*process);
  }
  // Formats are written non-sequentially, so a stream is copied from a complete file.
  std::optional<TemporaryFolder> folder;
  const bool streams = is_standard_output(file_options.output);
  if (streams) {
    refuse_terminal();
    folder.emplace();
  }
  const std::string output =
      streams ? *folder / "export" : expand_name(file_options.output, getpid());
  std::error_code ignored;
  if (std::filesystem::equivalent(output, input, ignored)) {
    throw Error("-o names the file that is read", "choose another name", ExitCode::output_failed);
  }
  reading::ProfileFile file(input);
  if (file.problem()) throw Error(*file.problem());
  const record::FileRules rules{.overwrite = file_options.overwrite,
                                .mode = file_options.file_mode,
                                .begins = format.begins,
                                .is_one = format.is_one};
  Progress progress;
  std::optional<record::OutputFile> made(std::in_place, output, rules);
  const auto show = [&](std::string_view what) { progress.show(what); };
  exporting::Visited visited;
  try {
    file.read(
        [&](store::Database& database) {
          // Discard what was written before the damage was found.
          made.reset();
          made.emplace(output, rules);
          options.name = streams ? "standard output" : made->name();
          visited = exporting::write_format(database, made->path(), format, options, show,
                                            &Progress::is_interrupted);
        },
        show);
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  made->place();
  progress.clear();
  if (streams) {
    const int code = copy_to_standard_output(made->path());
    if (code != 0) return code;
  }

  const auto say = [&](const std::string& text) {
    if (!file_options.quiet) std::fprintf(stderr, "gpuprof: %s\n", printable_lines(text).c_str());
  };
  for (const std::string& note : file.notes()) say(note);
  if (visited.without_times > 0) {
    say(std::to_string(visited.without_times) +
        " records of GPU work have no times, so they are left out.");
  }
  if (visited.markers_only) {
    say("NVTX ranges are left out: the file has nothing but their ends.");
  }
  say(options.name + ": " + std::to_string(visited.activities) +
      (visited.activities == 1 ? " activity of " : " activities of ") + input);
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

int run(ExportArguments& arguments) {
  if (arguments.tool == "nvprof") return write_for_nvprof(arguments);
  if (arguments.tool.empty()) return write_file(arguments);
  if (arguments.tool == "hta") {
    if (arguments.format.empty()) {
      arguments.format = arguments.job.file.output.ends_with(".gz") ? "hta-gz" : "hta";
    }
    return write_file(arguments);
  }
  throw Error("there is no export for \"" + arguments.tool + "\"",
              "--for takes nvprof, for nvprof 11.8 and the Visual Profiler, or hta",
              ExitCode::bad_option);
}

std::function<int()> declare_export(Grammar& grammar) {
  auto arguments = std::make_shared<ExportArguments>();
  ExcerptJob& job = arguments->job;
  grammar.take({.name = "profile",
                .to = &job.input,
                .help = "The profile to export",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--format",
                .to = &arguments->format,
                .help = "What to write, if the ending of the name after -o does not say it",
                .placeholder = "FORMAT",
                .choices = format_names()});
  grammar.take({.name = "--for",
                .to = &arguments->tool,
                .help =
                    "The tool that will read it: nvprof (11.8, and its Visual Profiler), or hta "
                    "(Holistic Trace Analysis, which requires names that end in .json or .gz)",
                .placeholder = "TOOL"});
  grammar.take_options(job.file, {"from", "to", "nvtx", "kernels", "devices"});
  grammar.take({.name = "--process",
                .to = &arguments->processes,
                .help = "Activities of these processes alone: ids with commas between",
                .placeholder = "IDS"});
  take_file_options(grammar, job);
  grammar.require("export-profile");
  std::string footer = "\nEndings of files, formats and what they are:\n";
  for (const exporting::FileFormat* format : exporting::file_formats()) {
    std::string line = "  " + std::string(format->ending);
    line.resize(std::max<std::size_t>(line.size(), 19), ' ');
    line += " " + std::string(format->name);
    line.resize(std::max<std::size_t>(line.size(), 31), ' ');
    footer += line + " " + std::string(format->help) + "\n";
  }
  footer +=
      "\n"
      "GPU work without times is left out and counted. Calls point at what they launched.\n"
      "-f replaces a file of the same format, too. -o - writes to standard output.";
  grammar.footer(footer);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Subcommand export_command{
    .name = "export",
    .usage = "FILE [--format FORMAT | --for TOOL] -o FILE",
    .help = "Write a profile for Perfetto, Chrome, nvprof, as CSV and more",
    .declare = declare_export,
    .values = [](std::string_view name) -> std::vector<std::string> {
      if (name.ends_with("for")) return {"nvprof", "hta"};
      return name.ends_with("format") ? format_names() : std::vector<std::string>();
    },
};

}  // namespace gpuprof::app
