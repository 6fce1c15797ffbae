#include "apps/gpuprof/command/sides.hpp"

#include <iostream>
#include <utility>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "libprof/base/error.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/runs_file.hpp"

namespace gpuprof::app {
namespace {

// A's files and B's: those before "--" and after it, or two; with --against all are B's.
void split_sides(SidesArguments& arguments) {
  std::vector<std::string>&a = arguments.files, &b = arguments.others;
  if (!arguments.against.empty()) {
    if (!b.empty()) {
      throw Error("--against is the side A, and files are given for it too",
                  "gpuprof diff --against main b*.sqlite", ExitCode::bad_option);
    }
    b = std::exchange(a, {});
  } else if (b.empty() && a.size() == 2) {
    b.push_back(a.back());
    a.pop_back();
  }
  if (b.empty() || (a.empty() && arguments.against.empty())) {
    throw Error("two sides are compared, and only one is named",
                "gpuprof diff a.sqlite b.sqlite, or several runs of each: gpuprof diff a*.sqlite "
                "-- b*.sqlite",
                ExitCode::bad_option);
  }
}

}  // namespace

void declare_sides(Grammar& grammar, SidesArguments& arguments) {
  grammar.take({.name = "files",
                .to = &arguments.files,
                .help = "Profiles of the side A; without -- the second of two is B",
                .placeholder = "A... [-- B...]",
                .several = true});
  grammar.take_after_dashes(arguments.others);
  grammar.take("--against", &arguments.against,
               "The side A is this baseline (gpuprof baseline); all files are B", "NAME");
  grammar.take("--dir", &arguments.folder,
               "Where baselines are ($GPUPROF_BASELINES, or .gpuprof/baselines)", "FOLDER");
  grammar.take_window(arguments.window);
  const auto threshold = [&arguments](const std::string& value) {
    arguments.rules.trust_single_runs = true;
    return share_to(arguments.rules.threshold, 1000)(value);
  };
  grammar.take("--floor", &arguments.floor,
               "A change that occurs between these runs of one program does not count (gate "
               "--calibrate)",
               "FILE");
  grammar.take("--force", &arguments.rules.force,
               "Compare runs of other GPUs, runs that lack records and the like nevertheless");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--markdown", &arguments.markdown, "Markdown, for a pull request");
  grammar.take(
      "--threshold", threshold,
      "A change of less does not count (0.5%); once given, it decides between single runs too",
      "PERCENT");
}

int read_files(const std::vector<compare::FileOfRuns>& files, const Options& window) {
  Progress progress;
  try {
    const bool whole =
        compare::read_files(files, {.window = window.reports.filter,
                                    .is_interrupted = &Progress::is_interrupted,
                                    .show = [&](std::string_view what) { progress.show(what); },
                                    .tell =
                                        [&](const std::string& note) {
                                          progress.clear();
                                          say(note);
                                        }});
    return whole ? 0 : static_cast<int>(ExitCode::import_failed);
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
}

void read_baseline(const SidesArguments& arguments, std::vector<compare::Run>& runs) {
  const std::string path =
      compare::baseline_path(compare::baseline_folder(arguments.folder), arguments.against);
  const std::vector<compare::Run> kept = compare::read_runs_file(path);
  runs.insert(runs.end(), kept.begin(), kept.end());
}

int read_sides(SidesArguments& arguments, std::vector<compare::Run>& a,
               std::vector<compare::Run>& b) {
  split_sides(arguments);
  if (!arguments.against.empty()) read_baseline(arguments, a);
  std::vector<compare::FileOfRuns> files;
  for (const std::string& file : arguments.files) files.push_back({file, &a});
  for (const std::string& file : arguments.others) files.push_back({file, &b});
  return read_files(files, arguments.window);
}

record::FileRules runs_file_rules(bool replace) {
  return {.overwrite = replace,
          .begins = compare::runs_begin,
          .option = "--replace",
          .profiles = false};
}

int compare_sides(SidesArguments& arguments, std::vector<compare::Run> a,
                  std::vector<compare::Run> b, compare::Comparison& result) {
  if (!arguments.floor.empty()) {
    arguments.rules.calibration = compare::read_runs_file(arguments.floor);
    if (arguments.rules.calibration.size() < 2) {
      throw Error(arguments.floor + " has a single run, which does not show how much runs differ",
                  "gpuprof gate --calibrate CMD -o FILE", ExitCode::bad_option);
    }
  }
  result = compare::compare(std::move(a), std::move(b), arguments.rules);
  return print_to_standard_output([&] {
    if (arguments.json) {
      print_json(result, std::cout);
    } else if (arguments.markdown) {
      print_markdown(result, std::cout);
    } else {
      print_text(result, std::cout, {.prefix = ""});
    }
  });
}

std::vector<std::string> sides_values(std::string_view name) {
  if (name != "against") return {};
  return compare::baseline_names(compare::baseline_folder(""));
}

constexpr std::string_view how_it_judges =
    "\n"
    "Where a run has steps (view steps: NVTX ranges called step, ProfilerStep and the like), a "
    "step\n"
    "is compared, from the second on; otherwise the time from the first to the last GPU work. The\n"
    "changes of the parts add up to that of the step. The run is the sample: with 4 and more on "
    "each\n"
    "side statistics decide, with 2 or 3 all runs of a side have to be above those of the other, "
    "and\n"
    "a single run decides nothing, unless --threshold or --floor is given. docs/diff.md has the\n"
    "details.";

}  // namespace gpuprof::app
