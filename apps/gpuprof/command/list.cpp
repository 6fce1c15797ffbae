#include <algorithm>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"

namespace gpuprof::app {

#ifdef GPUPROF_COMMANDS_OF_TSAN_TESTS
#define GPUPROF_COMMANDS(X) \
  X(sample_command)         \
  X(listen_command)         \
  X(replay_command)         \
  X(query_command)          \
  X(memory_command)         \
  X(completion_command)     \
  X(man_command)
#else
// In help order; commands without help are hidden.
#define GPUPROF_COMMANDS(X) \
  X(sample_command)         \
  X(listen_command)         \
  X(replay_command)         \
  X(info_command)           \
  X(query_command)          \
  X(account_command)        \
  X(kernels_command)        \
  X(findings_command)       \
  X(what_if_command)        \
  X(diff_command)           \
  X(gate_command)           \
  X(baseline_command)       \
  X(bisect_command)         \
  X(cluster_command)        \
  X(memory_command)         \
  X(timeline_command)       \
  X(annotate_command)       \
  X(view_command)           \
  X(report_command)         \
  X(top_command)            \
  X(slice_command)          \
  X(truncate_command)       \
  X(finish_command)         \
  X(export_command)         \
  X(import_file_command)    \
  X(schema_command)         \
  X(doctor_command)         \
  X(help_command)           \
  X(completion_command)     \
  X(complete_command)       \
  X(man_command)            \
  X(options_command)        \
  X(exit_codes_command)     \
  X(metric_map_command)     \
  X(view_question_command)
#endif

#define X(name) extern const Subcommand name;
GPUPROF_COMMANDS(X)
#undef X

namespace {

#define X(name) &name,
constexpr const Subcommand* commands[] = {GPUPROF_COMMANDS(X)};
#undef X

}  // namespace

std::span<const Subcommand* const> subcommands() { return commands; }

const Subcommand* find_subcommand(std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Subcommand::name);
  return found == std::end(commands) ? nullptr : *found;
}

namespace {

constexpr std::string_view to_come[] = {"attach", "merge"};

}  // namespace

std::span<const std::string_view> commands_to_come() { return to_come; }

void refuse_command_to_come(const std::vector<std::string>& words) {
  if (words.empty()) return;
  // "compare" is a synonym of one that is there.
  const bool synonym = words[0] == "compare";
  if (!synonym && std::ranges::find(to_come, words[0]) == std::end(to_come)) return;
  std::vector<std::string> program{"gpuprof", "--"};
  program.insert(program.end(), words.begin(), words.end());
  throw Error("there is no command " + words[0] + (synonym ? "" : " yet"),
              (synonym ? "gpuprof diff A B says what changed between runs\n  " : "") +
                  std::string("a program of that name: ") + shell_line(program) + ", or ./" +
                  words[0] + " where it is in this folder",
              ExitCode::bad_option);
}

int run_subcommand(const Subcommand& command, const std::vector<std::string>& words) {
  Grammar grammar;
  const std::function<int()> run = command.declare(grammar);
  if (const auto code = grammar.parse(command.name, command.help, words)) return *code;
  return run();
}

}  // namespace gpuprof::app
