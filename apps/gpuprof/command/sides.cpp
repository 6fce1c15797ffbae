#include "apps/gpuprof/command/sides.hpp"

#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "libprof/base/error.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/runs_file.hpp"
#include "libprof/conclude/compare/small_file.hpp"

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

// Nothing if there is anything to say about the file, which is read again then.
std::optional<compare::Run> read_quietly(const std::string& file, const reading::Filter& window) {
  try {
    if (compare::is_json_file(file)) return std::nullopt;
    reading::ProfileFile profile(file);
    if (profile.problem()) return std::nullopt;
    compare::Run run;
    profile.read(
        [&](store::Database& database) {
          database.watch(&Progress::is_interrupted);
          run = compare::read_run(database, window, [&] { database.check_watch(); });
        },
        [](std::string_view) {});
    if (!run.has_work() || profile.damaged() || !profile.notes().empty()) return std::nullopt;
    run.file = file;
    return run;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// A file, and the side that its runs are of.
struct OfSide {
  const std::string& file;
  std::vector<compare::Run>& runs;
};

// A process must not open a file twice at a time (ProfileFile).
bool are_two_files(const std::string& a, const std::string& b) {
  std::error_code error;
  return !std::filesystem::equivalent(a, b, error) && !error;
}

// Two at a time, the second one by another thread.
int read_all(const std::vector<OfSide>& files, const reading::Filter& window) {
  for (std::size_t i = 0; i < files.size(); i += 2) {
    std::future<std::optional<compare::Run>> second;
    const bool has_second = i + 1 < files.size();
    if (has_second && are_two_files(files[i].file, files[i + 1].file)) {
      try {
        second =
            std::async(std::launch::async, [&] { return read_quietly(files[i + 1].file, window); });
      } catch (const std::system_error&) {
        // This thread reads it.
      }
    }
    if (const int code = read_runs(files[i].file, window, files[i].runs)) return code;
    if (!has_second) break;
    if (std::optional<compare::Run> run = second.valid() ? second.get() : std::nullopt) {
      files[i + 1].runs.push_back(*std::move(run));
    } else if (const int code = read_runs(files[i + 1].file, window, files[i + 1].runs)) {
      return code;
    }
  }
  return 0;
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

int read_runs(const std::string& file, const reading::Filter& window,
              std::vector<compare::Run>& runs) {
  if (compare::is_json_file(file)) {
    const std::vector<compare::Run> kept = compare::read_runs_file(file);
    runs.insert(runs.end(), kept.begin(), kept.end());
    return 0;
  }
  return with_profile(file, [&](const OpenProfile& open) {
    compare::Run run =
        compare::read_run(open.database, window, [&] { open.show("reading " + file); });
    run.file = file;
    if (!run.has_work()) {
      throw Error(file + " has no GPU work with times" +
                      (window.from.given() || window.to.given() ? " there" : ""),
                  "gpuprof info says what is in it", ExitCode::import_failed);
    }
    runs.push_back(std::move(run));
  });
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
  const reading::Filter& window = arguments.window.reports.filter;
  if (!arguments.against.empty()) read_baseline(arguments, a);
  std::vector<OfSide> files;
  for (const std::string& file : arguments.files) files.push_back({file, a});
  for (const std::string& file : arguments.others) files.push_back({file, b});
  return read_all(files, window);
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
