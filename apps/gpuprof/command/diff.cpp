// gpuprof diff: what changed between runs; gpuprof gate: the same, as an exit code for CI.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/compare/print.hpp"

namespace gpuprof::app {
namespace {

// Of gate.
constexpr int code_slower = 1, code_inconclusive = 3;

struct DiffArguments {
  std::vector<std::string> files, others;
  Options window;
  bool json = false, markdown = false, strict = false;
  compare::Rules rules;
};

// A's files and B's: those before "--" and after it, or two.
void split_sides(DiffArguments& arguments) {
  if (arguments.others.empty() && arguments.files.size() == 2) {
    arguments.others.push_back(arguments.files.back());
    arguments.files.pop_back();
  }
  if (arguments.files.empty() || arguments.others.empty()) {
    throw Error("two sides are compared, and only one is named",
                "gpuprof diff a.sqlite b.sqlite, or several runs of each: gpuprof diff a*.sqlite "
                "-- b*.sqlite",
                ExitCode::bad_option);
  }
}

// Returns the exit code, like with_profile().
int read_runs(const std::vector<std::string>& files, const reading::Filter& window,
              std::vector<compare::Run>& runs) {
  for (const std::string& file : files) {
    const int code = with_profile(file, [&](const OpenProfile& open) {
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
    if (code != 0) return code;
  }
  return 0;
}

int compare_files(DiffArguments& arguments, compare::Comparison& result) {
  split_sides(arguments);
  const reading::Filter& window = arguments.window.reports.filter;
  std::vector<compare::Run> a, b;
  if (const int code = read_runs(arguments.files, window, a)) return code;
  if (const int code = read_runs(arguments.others, window, b)) return code;
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

int diff(DiffArguments& arguments) {
  compare::Comparison result;
  return compare_files(arguments, result);
}

int gate(DiffArguments& arguments) {
  compare::Comparison result;
  if (const int code = compare_files(arguments, result)) return code;
  switch (result.verdict) {
    case compare::Verdict::same:
    case compare::Verdict::faster: return 0;
    case compare::Verdict::slower: return code_slower;
    case compare::Verdict::inconclusive: return code_inconclusive;
    case compare::Verdict::unknown: return arguments.strict ? code_inconclusive : 0;
  }
  return code_inconclusive;
}

void declare(Grammar& grammar, DiffArguments& arguments) {
  grammar.take({.name = "files",
                .to = &arguments.files,
                .help = "Profiles of the side A; without -- the second of two is B",
                .placeholder = "A... [-- B...]",
                .required = true,
                .several = true});
  grammar.take_after_dashes(arguments.others);
  grammar.take_window(arguments.window);
  const auto threshold = [&arguments](const std::string& value) {
    arguments.rules.trust_single_runs = true;
    return share_to(arguments.rules.threshold, 1000)(value);
  };
  grammar.take(
      "--threshold", threshold,
      "A change of less does not count (1%); once given, it decides between single runs too",
      "PERCENT");
  grammar.take("--force", &arguments.rules.force,
               "Compare runs of other GPUs, runs that lack records and the like nevertheless");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--markdown", &arguments.markdown, "Markdown, for a pull request");
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
    "a single run decides nothing, unless --threshold is given. docs/diff.md has the details.";

void declare_diff(Grammar& grammar, DiffArguments& arguments) {
  declare(grammar, arguments);
  grammar.footer(
      "\n"
      "  gpuprof diff before.sqlite after.sqlite\n"
      "  gpuprof diff before-*.sqlite -- after-*.sqlite\n" +
      std::string(how_it_judges));
}

void declare_gate(Grammar& grammar, DiffArguments& arguments) {
  declare(grammar, arguments);
  grammar.take("--strict", &arguments.strict, "End with 3 too if the runs do not show enough");
  grammar.footer(
      "\n"
      "  gpuprof gate main-*.sqlite -- mine-*.sqlite --threshold 2%\n"
      "\n"
      "Ends with 0 if B is not slower, or if the runs do not show whether it is; 1 = B is slower;\n"
      "3 = the sides cannot be compared.\n" +
      std::string(how_it_judges));
}

}  // namespace

extern const Subcommand diff_command{
    .name = "diff",
    .usage = "A... -- B...",
    .help = "Say what changed between runs, as parts that add up",
    .declare = command<DiffArguments, declare_diff, diff>,
};

extern const Subcommand gate_command{
    .name = "gate",
    .usage = "A... -- B...",
    .help = "End with 1 if the runs B are slower than the runs A",
    .declare = command<DiffArguments, declare_gate, gate>,
};

}  // namespace gpuprof::app
