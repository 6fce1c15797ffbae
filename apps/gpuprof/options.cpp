#include "apps/gpuprof/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "gpuprof_version.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/report/report.hpp"
#include "schema/kind.hpp"

namespace gpuprof::app {
namespace {

constexpr char description[] =
    R"(Profile CUDA programs: kernels, copies, API calls and NVTX ranges into an SQLite file.

  gpuprof ./vector_add                     run it and print a summary
  gpuprof -o run.sqlite python train.py    stream into run.sqlite while it runs
  gpuprof -i run.sqlite                    the summary of a stored run
  gpuprof replay run.gpcap -o run.sqlite   load a capture made with --save-capture)";

constexpr char footer[] =
    R"(
Names of output files may hold %p (process id: one file per process), %h (host name),
%q{NAME} (environment variable) and %% (a percent sign).

The exit code is the program's own, or 128 + the signal that ended it. gpuprof's own:
  3 no program   4 internal error, %q variable not set   5 wrong option
  13 program not found   20 file cannot be read   21 file cannot be written)";

std::string trace_help() {
  std::string text = "What to collect, with commas between:";
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty()) continue;
    text += "\n  " + std::string(group.name);
    text.append(16 > group.name.size() ? 16 - group.name.size() : 1, ' ');
    text += std::string(group.doc) + (group.by_default ? " (on)" : "");
  }
  text += "\n+NAME adds to what is on, -NAME takes away, all is everything but graph";
  return text;
}

[[noreturn]] void wrong(const std::string& message,
                        const std::string& hint = "see gpuprof --help") {
  throw Error(message, hint, ExitCode::bad_option);
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  Options options;
  options.command_line = shell_line({argv, argv + argc});
  CLI::App app{description, "gpuprof"};
  app.footer(footer);
  app.set_version_flag("-V,--version", "gpuprof " + std::string(version));
  app.prefix_command();
  app.get_formatter()->column_width(34);

  bool no_indexes = false;
  const auto add_output = [&](CLI::App& to) {
    to.add_option("-o,--output-profile,--export-profile", options.output,
                  "Write the profile to this SQLite file")
        ->option_text("FILE");
    to.add_flag("-f,--force-overwrite", options.overwrite, "Replace the output file if it exists");
    to.add_flag("--no-indexes", no_indexes,
                "Leave out nvprof's indexes: smaller file, slower joins");
    to.add_flag("-q,--quiet", options.quiet, "Print nothing but errors");
  };
  add_output(app);
  std::vector<std::string> trace_words;
  app.add_option("-t,--trace", trace_words, trace_help())
      ->delimiter(',')
      ->option_text("LIST")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  std::string from_start = "on", concurrent = "on";
  app.add_option("--profile-from-start", from_start,
                 "off: collect only between cudaProfilerStart and cudaProfilerStop")
      ->check(CLI::IsMember({"on", "off"}))
      ->option_text("on|off");
  app.add_option("--concurrent-kernels", concurrent, "off: run kernels one at a time")
      ->check(CLI::IsMember({"on", "off"}))
      ->option_text("on|off");
  app.add_option("--flush-period", options.flush_ms,
                 "Milliseconds after which records are written at the latest (500)")
      ->check(CLI::Range(1, 60'000))
      ->option_text("MS");
  app.add_option("--cupti", options.cupti, "The libcupti to use, in place of gpuprof's own")
      ->check(CLI::ExistingFile)
      ->option_text("PATH");
  app.add_option("--save-capture", options.save_capture,
                 "Also record the stream itself, for gpuprof replay")
      ->option_text("FILE");
  app.add_option("--activity-buffers", options.slots,
                 "Buffers of 1 MiB that CUPTI may fill at a time (256); memory is used as needed")
      ->check(CLI::Range(4, 65'536))
      ->option_text("N");
  app.add_option("-i,--import-profile", options.input, "Print the summary of this profile")
      ->option_text("FILE");
  report::Options& reports = options.reports;
  app.add_flag_callback(
      "--csv", [&] { reports.layout = report::Layout::csv; }, "CSV");
  app.add_flag_callback(
      "--json", [&] { reports.layout = report::Layout::json; }, "JSON");
  app.add_flag_callback(
      "-s", [&] { reports.chosen.insert("print-summary"); }, "Summary");
  app.add_flag("--stats", reports.statistics, "Median, deviation and percentiles");
  app.add_option("--top", reports.top, "Rows per section");
  std::string unit = "auto", demangling = "on", openacc = "exclusive", ignored;
  app.add_option("-u,--normalized-time-unit", unit, "Unit");
  app.add_option("--demangling", demangling, "Names");
  app.add_option("--openacc-summary-mode", openacc, "exclusive or inclusive");
  app.add_flag("--print-openacc-constructs", reports.openacc_constructs, "Constructs");
  app.add_option("--system-profiling", ignored, "");
  app.add_option("--kernels", reports.filter.kernels, "Regular expression");
  app.add_option("--devices", reports.filter.devices, "Devices")->delimiter(',');
  std::string cpu_mode = "bottom-up", cpu_scope, cpu_library, cpu_ccff, cpu_threads;
  app.add_option("--cpu-profiling-mode", cpu_mode);
  app.add_option("--cpu-profiling-max-depth", reports.cpu.max_depth);
  app.add_option("--cpu-profiling-percentage-threshold", reports.cpu.threshold);
  app.add_option("--cpu-profiling-scope", cpu_scope);
  app.add_option("--cpu-profiling-show-library", cpu_library);
  app.add_option("--cpu-profiling-show-ccff", cpu_ccff);
  app.add_option("--cpu-profiling-thread-mode", cpu_threads);
  for (const report::Report* entry : report::reports()) {
    if (entry->option.empty()) continue;
    const std::string name(entry->option);
    app.add_flag_callback(
        "--" + name, [&options, name] { options.reports.chosen.insert(name); },
        std::string(entry->help));
  }

  CLI::App* replay = app.add_subcommand("replay", "Load a capture into an SQLite file");
  add_output(*replay);
  replay->add_option("capture", options.input, "A file made with --save-capture")
      ->required()
      ->option_text("FILE");
  CLI::App* schema = app.add_subcommand("schema", "Print the tables and views as Markdown");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    exit_code = app.exit(success);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    wrong(error.what());
  }

  for (const auto& [name, value] :
       std::map<std::string, report::Unit>{{"auto", report::Unit::automatic},
                                           {"col", report::Unit::column},
                                           {"s", report::Unit::s},
                                           {"ms", report::Unit::ms},
                                           {"us", report::Unit::us},
                                           {"ns", report::Unit::ns}}) {
    if (unit == name) reports.unit = value;
  }
  if (demangling == "off") reports.names = report::NameStyle::mangled;
  if (demangling == "modern") reports.names = report::NameStyle::modern;
  if (demangling == "nvprof") reports.names = report::NameStyle::nvprof;
  reports.openacc_inclusive = openacc == "inclusive";
  reports.cpu.mode = cpu_mode == "flat"       ? report::CpuMode::flat
                     : cpu_mode == "top-down" ? report::CpuMode::top_down
                                              : report::CpuMode::bottom_up;
  reports.cpu.by_instruction = cpu_scope == "instruction";
  reports.cpu.show_library = cpu_library == "on";
  reports.cpu.show_ccff = cpu_ccff == "on";
  reports.cpu.by_thread = cpu_threads == "separated";
  options.indexes = !no_indexes;
  options.profile_from_start = from_start == "on";
  options.concurrent_kernels = concurrent == "on";
  options.trace = trace_words;
  if (replay->parsed()) {
    options.command = Command::replay;
    return options;
  }
  if (schema->parsed()) {
    options.command = Command::schema;
    return options;
  }
  options.application = app.remaining();
  if (!options.application.empty() && options.application[0] == "--") {
    options.application.erase(options.application.begin());
  } else if (!options.application.empty() && options.application[0].starts_with("-")) {
    wrong("there is no option " + options.application[0]);
  }
  if (!options.input.empty()) {
    options.command = Command::import;
    if (!options.application.empty()) {
      wrong("a program cannot be run while a profile is imported", "leave out -i, or the program");
    }
    if (!options.output.empty()) wrong("-i and -o exclude one another");
    return options;
  }
  if (options.application.empty()) {
    throw Error("no program to profile",
                "gpuprof [options] PROGRAM [arguments]; see gpuprof --help",
                ExitCode::no_application);
  }
  return options;
}

}  // namespace gpuprof::app
