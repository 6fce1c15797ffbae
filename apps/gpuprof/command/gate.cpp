// gpuprof gate: diff as an exit code for CI. It can also record the runs.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
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
#include "libprof/base/shell.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/conclude/compare/checks.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/runs_file.hpp"
#include "libprof/conclude/compare/trials.hpp"

namespace gpuprof::app {
namespace {

constexpr int code_slower = 1, code_inconclusive = 3;
constexpr int usual_runs = 5, runs_of_calibration = 10, most_runs = 50;

struct GateArguments {
  SidesArguments sides;
  bool strict = false, replace = false;
  std::string rules, junit;
  // Runs to record.
  int runs = 0;  // 0: not given
  std::string base, changed, calibrate, output, options, keep;
};

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(what, hint, ExitCode::bad_option);
}

// Records runs and reads them at once, so that profiles that are not kept need no room.
class Recordings {
 public:
  explicit Recordings(const GateArguments& arguments)
      : arguments_(arguments), trials_(prepared_folder(), shell_words(arguments.options)) {}

  // Returns the exit code.
  int record(const std::string& command, const std::string& name, std::vector<compare::Run>& runs) {
    say("recording " + name);
    const std::string profile = trials_.record(command, name);
    int code = 0;
    try {
      code = read_files({{profile, &runs}}, arguments_.sides.window);
    } catch (const Error& error) {
      throw Error(name + ": " + command + ": " + error.what(), error.hint(),
                  ExitCode::program_failed);
    }
    if (!temporary_ || code != 0) return code;
    runs.back().file = name;
    remove(profile);
    return 0;
  }

  // The first run of a command fills caches, of the disk and of compiled kernels.
  void warm_up(const std::string& command, const std::string& name) {
    say("warming up with " + name);
    remove(trials_.record(command, name + "-warm-up"));
  }

 private:
  std::string prepared_folder() {
    if (arguments_.keep.empty()) return temporary_.emplace().path();
    std::error_code failed;
    std::filesystem::create_directories(arguments_.keep, failed);
    if (failed) {
      throw Error(arguments_.keep + ": " + failed.message(), "", ExitCode::output_failed);
    }
    return arguments_.keep;
  }

  static void remove(const std::string& profile) {
    std::error_code ignored;
    std::filesystem::remove(profile, ignored);
  }

  const GateArguments& arguments_;
  std::optional<TemporaryFolder> temporary_;
  compare::Trials trials_;
};

int record_sides(const GateArguments& arguments, std::vector<compare::Run>& a,
                 std::vector<compare::Run>& b) {
  const int runs = arguments.runs ? arguments.runs : usual_runs;
  Recordings recordings(arguments);
  if (!arguments.base.empty()) recordings.warm_up(arguments.base, "base");
  recordings.warm_up(arguments.changed, "new");
  for (const int side : compare::turns(runs)) {
    if (side == 0 && arguments.base.empty()) continue;
    std::vector<compare::Run>& of_side = side == 0 ? a : b;
    const std::string name = (side == 0 ? "base-" : "new-") + std::to_string(of_side.size() + 1);
    if (const int code =
            recordings.record(side == 0 ? arguments.base : arguments.changed, name, of_side)) {
      return code;
    }
  }
  if (arguments.base.empty()) read_baseline(arguments.sides, a);
  return 0;
}

int calibrate(const GateArguments& arguments) {
  const int count = arguments.runs ? arguments.runs : runs_of_calibration;
  if (arguments.output.empty()) refuse("--calibrate needs the name of a file", "add -o floor.json");
  if (count < 2) refuse("a calibration has 2 runs or more", "");
  record::OutputFile file(arguments.output, runs_file_rules(arguments.replace));
  std::vector<compare::Run> runs;
  Recordings recordings(arguments);
  recordings.warm_up(arguments.calibrate, "program");
  for (int run = 1; run <= count; ++run) {
    if (const int code =
            recordings.record(arguments.calibrate, "run-" + std::to_string(run), runs)) {
      return code;
    }
  }
  write_text(file, compare::runs_text(runs));
  return print_to_standard_output([&] { compare::print_floor(runs, std::cout, {.prefix = ""}); });
}

void check_arguments(const GateArguments& arguments) {
  if (!arguments.output.empty() && arguments.calibrate.empty()) {
    refuse("-o names the file that --calibrate writes", "");
  }
  const bool files = !arguments.sides.files.empty() || !arguments.sides.others.empty();
  const bool commands = !arguments.base.empty() || !arguments.changed.empty();
  if (!arguments.calibrate.empty() && (files || commands || !arguments.sides.against.empty())) {
    refuse("--calibrate records one program, and compares with nothing", "");
  }
  if (commands && files) refuse("gate takes files or commands, not both", "");
  if (commands && arguments.changed.empty()) {
    refuse("--base is given without --new", "gpuprof gate --base CMD --new CMD");
  }
  if (commands && arguments.base.empty() == arguments.sides.against.empty()) {
    refuse("--new is compared with --base or with --against", "give one of them");
  }
  if (!commands && arguments.calibrate.empty() && arguments.runs) {
    refuse("-n is a number of runs to record", "add --base and --new");
  }
}

int code_of(const compare::Comparison& result, bool strict) {
  if (result.is_worse()) return code_slower;
  switch (result.verdict) {
    case compare::Verdict::same:
    case compare::Verdict::faster:
    case compare::Verdict::slower: return 0;
    case compare::Verdict::inconclusive: return code_inconclusive;
    case compare::Verdict::unknown: return strict ? code_inconclusive : 0;
  }
  return code_inconclusive;
}

// Of an earlier run it is replaced; CI's other users may read it.
record::FileRules junit_rules() {
  return {.overwrite = true, .mode = 0644, .begins = compare::junit_begin, .profiles = false};
}

void write_junit(const compare::Comparison& result, record::OutputFile& file) {
  std::ostringstream text;
  print_junit(result, text);
  write_text(file, text.str());
}

int gate(GateArguments& arguments) {
  check_arguments(arguments);
  SidesArguments& sides = arguments.sides;
  if (!arguments.rules.empty()) {
    const double threshold = sides.rules.threshold;
    const bool given = sides.rules.trust_single_runs;
    compare::read_rules(arguments.rules, sides.rules);
    if (given) sides.rules.threshold = threshold;  // the command line takes precedence
  }
  if (!arguments.calibrate.empty()) return calibrate(arguments);
  std::optional<record::OutputFile> junit;
  if (!arguments.junit.empty()) junit.emplace(arguments.junit, junit_rules());
  std::vector<compare::Run> a, b;
  const bool records = !arguments.changed.empty();
  if (const int code = records ? record_sides(arguments, a, b) : read_sides(sides, a, b)) {
    return code;
  }
  compare::Comparison result;
  if (const int code = compare_sides(sides, std::move(a), std::move(b), result)) return code;
  if (junit) write_junit(result, *junit);
  return code_of(result, arguments.strict);
}

void declare_gate(Grammar& grammar, GateArguments& arguments) {
  declare_sides(grammar, arguments.sides);
  grammar.take("--strict", &arguments.strict, "End with 3 too if the runs do not show enough");
  grammar.take("--rules", &arguments.rules,
               "Limits and thresholds of a project: docs/diff.md has the format", "FILE");
  grammar.take("--junit", &arguments.junit, "Also write the result as JUnit's XML", "FILE");
  grammar.take("--base", &arguments.base, "Record the side A with this command for the shell",
               "CMD");
  grammar.take("--new", &arguments.changed, "Record the side B, in turns with --base", "CMD");
  grammar.take("--calibrate", &arguments.calibrate,
               "Record runs of this command, and write into -o how much they differ", "CMD");
  grammar.take("-n", number_to(arguments.runs, 1, most_runs),
               "How many runs of each to record (5; 10 to calibrate)", "N");
  grammar.take("--options", &arguments.options, "gpuprof's options for these runs", "WORDS");
  grammar.take("--keep", &arguments.keep, "Keep the profiles of these runs in this folder",
               "FOLDER");
  grammar.take("-o", &arguments.output, "The file that --calibrate writes, for --floor", "FILE");
  grammar.take("--replace", &arguments.replace, "Replace that file");
  grammar.footer(
      "\n"
      "  gpuprof gate main-*.sqlite -- mine-*.sqlite --threshold 2%\n"
      "  gpuprof gate --against main mine-*.sqlite --rules gpuprof-gate.json\n"
      "  gpuprof gate --base 'python3 old/train.py' --new 'python3 train.py'\n"
      "  gpuprof gate --calibrate 'python3 train.py' -o floor.json\n"
      "\n"
      "Ends with 0 if B is not slower, or if the runs do not show whether it is; 1 = B is slower,\n"
      "or breaks a rule; 3 = the sides cannot be compared. A command that fails ends it with "
      "26.\n" +
      std::string(how_it_judges));
}

}  // namespace

extern const Subcommand gate_command{
    .name = "gate",
    .usage = "A... -- B...",
    .help = "End with 1 if the runs B are slower than the runs A",
    .declare = command<GateArguments, declare_gate, gate>,
    .values = sides_values,
};

}  // namespace gpuprof::app
