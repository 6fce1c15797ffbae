#include <algorithm>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"

namespace gpuprof::app {

// In help order; commands without help are hidden. The build for TSan has X alone, which its tests
// start.
#define GPUPROF_COMMANDS(X, Y) \
  X(sample_command)            \
  Y(attach_command)            \
  Y(status_command)            \
  Y(start_command)             \
  Y(stop_command)              \
  Y(flush_command)             \
  Y(snapshot_command)          \
  X(listen_command)            \
  X(replay_command)            \
  Y(info_command)              \
  X(query_command)             \
  Y(account_command)           \
  Y(kernels_command)           \
  Y(findings_command)          \
  Y(what_if_command)           \
  Y(diff_command)              \
  Y(gate_command)              \
  Y(baseline_command)          \
  Y(bisect_command)            \
  Y(cluster_command)           \
  Y(merge_command)             \
  X(memory_command)            \
  Y(lines_command)             \
  Y(timeline_command)          \
  Y(annotate_command)          \
  Y(view_command)              \
  Y(serve_command)             \
  Y(report_command)            \
  Y(top_command)               \
  Y(slice_command)             \
  Y(truncate_command)          \
  Y(finish_command)            \
  Y(export_command)            \
  Y(import_file_command)       \
  Y(schema_command)            \
  Y(doctor_command)            \
  Y(help_command)              \
  X(completion_command)        \
  Y(complete_command)          \
  X(man_command)               \
  Y(options_command)           \
  Y(exit_codes_command)        \
  Y(metric_map_command)        \
  Y(view_question_command)     \
  Y(watch_run_command)

#ifdef GPUPROF_COMMANDS_OF_TSAN_TESTS
#define Y(name)
#else
#define Y(name) X(name)
#endif

#define X(name) extern const Subcommand name;
GPUPROF_COMMANDS(X, Y)
#undef X

namespace {

#define X(name) &name,
constexpr const Subcommand* commands[] = {GPUPROF_COMMANDS(X, Y)};
#undef X

}  // namespace

std::span<const Subcommand* const> subcommands() { return commands; }

const Subcommand* find_subcommand(std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Subcommand::name);
  return found == std::end(commands) ? nullptr : *found;
}

void refuse_synonym(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "compare") return;
  std::vector<std::string> program{"gpuprof", "--"};
  program.insert(program.end(), words.begin(), words.end());
  throw Error("there is no command " + words[0],
              "gpuprof diff A B says what changed between runs\n  a program of that name: " +
                  shell_line(program) + ", or ./" + words[0] + " where it is in this folder",
              ExitCode::bad_option);
}

int run_subcommand(const Subcommand& command, const std::vector<std::string>& words) {
  Grammar grammar;
  const std::function<int()> run = command.declare(grammar);
  if (const auto code = grammar.parse(command.name, command.help, words)) return *code;
  return run();
}

}  // namespace gpuprof::app
