// gpuprof export: a profile for another tool.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/export/for_nvprof.hpp"
#include "libprof/exchange/export/format.hpp"

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
  const exporting::FileFormat* format =
      !arguments.format.empty() ? exporting::find_format(arguments.format)
      : !arguments.tool.empty() ? exporting::format_for_tool(arguments.tool, output)
                                : exporting::format_of_file(output);
  if (format) return *format;
  if (output.ends_with(".parquet")) {
    throw Error("the Python package writes Parquet, a table to a file",
                "in Python: gpuprof.open(\"run.sqlite\").kernels.parquet(\"kernels.parquet\")",
                ExitCode::bad_option);
  }
  const std::string endings =
      joined(exporting::file_formats(), ", ", &exporting::FileFormat::ending);
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
  exporting::Visited visited;
  return write_new_file(
      {.input = input,
       .output = output,
       .rules = {.overwrite = file_options.overwrite,
                 .mode = file_options.file_mode,
                 .begins = format.begins,
                 .is_one = format.is_one},
       .quiet = file_options.quiet},
      [&](const OpenProfile& open, const record::OutputFile& made) {
        options.name = streams ? "standard output" : made.name();
        visited = exporting::write_format(
            open.database, made.path(), format, options,
            [&](std::string_view what) { open.progress.show(what); }, &Progress::is_interrupted);
      },
      [&](const record::OutputFile& made) {
        std::vector<std::string> lines;
        if (streams && copy_to_standard_output(made.path()) != 0) return lines;
        if (visited.without_times > 0) {
          lines.push_back(std::to_string(visited.without_times) +
                          " records of GPU work have no times, so they are left out.");
        }
        if (visited.markers_only) {
          lines.emplace_back("NVTX ranges are left out: the file has nothing but their ends.");
        }
        lines.push_back(options.name + ": " + std::to_string(visited.activities) +
                        (visited.activities == 1 ? " activity of " : " activities of ") + input);
        return lines;
      });
}

int run(ExportArguments& arguments) {
  if (arguments.tool == "nvprof") return write_for_nvprof(arguments);
  if (arguments.tool.empty() || exporting::format_for_tool(arguments.tool, "")) {
    return write_file(arguments);
  }
  throw Error("there is no export for \"" + arguments.tool + "\"",
              "--for takes nvprof, for nvprof 11.8 and the Visual Profiler, or hta",
              ExitCode::bad_option);
}

void declare_export(Grammar& grammar, ExportArguments& arguments) {
  ExcerptJob& job = arguments.job;
  grammar.take_file("profile", job.input, "The profile to export");
  grammar.take("--format", &arguments.format,
               "What to write, if the ending of the name after -o does not say it", "FORMAT",
               format_names());
  grammar.take("--for", &arguments.tool,
               "The tool that will read it: nvprof (11.8, and its Visual Profiler), or hta "
               "(Holistic Trace Analysis, which requires names that end in .json or .gz)",
               "TOOL");
  grammar.take_window(job.file);
  grammar.take_options(job.file, {"kernels", "devices"});
  grammar.take("--process", &arguments.processes,
               "Activities of these processes alone: ids with commas between", "IDS");
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
}

}  // namespace

extern const Subcommand export_command{
    .name = "export",
    .usage = "FILE -o FILE",
    .help = "Write a profile for Perfetto, Chrome, nvprof, as CSV and more",
    .declare = command<ExportArguments, declare_export, run>,
    .values = [](std::string_view name) -> std::vector<std::string> {
      return name == "for"      ? std::vector<std::string>{"nvprof", "hta"}
             : name == "format" ? format_names()
                                : std::vector<std::string>();
    },
};

}  // namespace gpuprof::app
