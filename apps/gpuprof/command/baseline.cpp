// gpuprof baseline: runs to compare with later, without their records.
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/sides.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/text_file.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/runs_file.hpp"

namespace gpuprof::app {
namespace {

struct BaselineArguments {
  std::vector<std::string> words;  // action, name, files
  std::string folder;
  Options window;
  bool replace = false;
  TableLayout layout;
};

[[noreturn]] void refuse_words(const std::string& what) {
  throw Error(what,
              "gpuprof baseline add NAME FILE..., gpuprof baseline list, gpuprof baseline "
              "history [NAME...], gpuprof baseline rm NAME",
              ExitCode::bad_option);
}

int add_baseline(const BaselineArguments& arguments, const std::string& folder) {
  if (arguments.words.size() < 3) refuse_words("a baseline has a name and at least one file");
  const std::string path = compare::baseline_path(folder, arguments.words[1]);
  std::vector<compare::Run> runs;
  std::vector<compare::FileOfRuns> files;
  for (std::size_t i = 2; i < arguments.words.size(); ++i) {
    files.push_back({arguments.words[i], &runs});
  }
  if (const int code = read_files(files, arguments.window)) return code;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error(folder + ": " + failed.message(), "", ExitCode::output_failed);
  record::OutputFile file(path, runs_file_rules(arguments.replace));
  write_text(file, compare::runs_text(runs));
  say(path + " has " + count_of(runs.size(), "run"));
  return 0;
}

using Baselines = std::vector<std::pair<std::string, std::vector<compare::Run>>>;

// All that can be read.
Baselines read_baselines(const std::string& folder) {
  Baselines baselines;
  for (const std::string& name : compare::baseline_names(folder)) {
    try {
      baselines.emplace_back(name, compare::read_runs_file(compare::baseline_path(folder, name)));
    } catch (const Error& error) {
      say(error.what());
    }
  }
  return baselines;
}

int list_baselines(const std::string& folder) {
  const Baselines baselines = read_baselines(folder);
  return print_to_standard_output(
      [&] { compare::print_baselines(baselines, std::cout, {.prefix = ""}); });
}

int show_history(const BaselineArguments& arguments, const std::string& folder) {
  Baselines baselines;
  for (std::size_t i = 1; i < arguments.words.size(); ++i) {
    const std::string& name = arguments.words[i];
    baselines.emplace_back(name, compare::read_runs_file(compare::baseline_path(folder, name)));
  }
  if (baselines.empty()) baselines = read_baselines(folder);
  const report::ReportOptions options{.layout = arguments.layout.chosen(), .prefix = ""};
  return print_to_standard_output(
      [&] { compare::print_history(baselines, {}, std::cout, options); });
}

int remove_baseline(const BaselineArguments& arguments, const std::string& folder) {
  if (arguments.words.size() != 2) refuse_words("rm takes the name of a baseline");
  const std::string path = compare::baseline_path(folder, arguments.words[1]);
  if (unlink(path.c_str()) == 0) return 0;
  throw Error(path + ": " + std::strerror(errno), "gpuprof baseline list lists them",
              ExitCode::output_failed);
}

int baseline(BaselineArguments& arguments) {
  const std::string folder = compare::baseline_folder(arguments.folder);
  const std::string& action = arguments.words.front();
  if (action == "add") return add_baseline(arguments, folder);
  if (action == "list" && arguments.words.size() == 1) return list_baselines(folder);
  if (action == "history") return show_history(arguments, folder);
  if (action == "rm") return remove_baseline(arguments, folder);
  refuse_words("the word after baseline is add, list, history or rm");
}

void declare_baseline(Grammar& grammar, BaselineArguments& arguments) {
  grammar.take({.name = "action",
                .to = &arguments.words,
                .help = "add NAME FILE...: keep the runs under a name; list; history [NAME...]: "
                        "compare each with the one before it, in this order or that of their "
                        "names; rm NAME",
                .placeholder = "add|list|history|rm [NAME] [FILE...]",
                .required = true,
                .several = true});
  grammar.take("--dir", &arguments.folder,
               "Where baselines are ($GPUPROF_BASELINES, or .gpuprof/baselines)", "FOLDER");
  grammar.take("--replace", &arguments.replace, "Replace the baseline of that name");
  grammar.take_window(arguments.window);
  grammar.take_layout(arguments.layout);
  grammar.footer(
      "\n"
      "  gpuprof baseline add main run-*.sqlite\n"
      "  gpuprof gate --against main new-*.sqlite\n"
      "  gpuprof baseline history --csv\n"
      "\n"
      "A baseline is a JSON file of at most 100 kB per run, which has what diff and gate need.");
}

}  // namespace

extern const Subcommand baseline_command{
    .name = "baseline",
    .usage = "add|list|history|rm",
    .help = "Keep runs to compare with later, without their records",
    .rare = true,
    .declare = command<BaselineArguments, declare_baseline, baseline>,
};

}  // namespace gpuprof::app
