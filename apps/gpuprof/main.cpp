#include <signal.h>

#include <cstdio>
#include <exception>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "apps/gpuprof/option/presets.hpp"
#include "libprof/base/printable.hpp"

namespace {

using namespace gpuprof;

// If the reader goes away, printing ends but not the process, so that copies are removed.
void outlive_readers() { signal(SIGPIPE, SIG_IGN); }

int run(const std::vector<std::string>& words) {
  if (!words.empty()) {
    if (const app::Subcommand* command = app::find_subcommand(words[0])) {
      outlive_readers();
      return app::run_subcommand(*command, {words.begin() + 1, words.end()});
    }
    app::refuse_synonym(words);
  }
  const app::Options options = app::parse_options(words, app::read_presets);
  const bool asks = options.action == app::Action::help || options.action == app::Action::version;
  // A target is started with our original signal settings: launch::Target restores them.
  if (options.action != app::Action::run || options.application.empty()) outlive_readers();
  if (!asks) app::tell_misspelt_variables(options);
  switch (options.action) {
    case app::Action::run: return app::run_command(options);
    case app::Action::import: return app::import_command(options);
    case app::Action::query: return app::query_metrics_command(options);
    case app::Action::help: return app::print_help(options.topic);
    case app::Action::version: return app::print_version();
  }
  return 0;
}

}  // namespace

// Called by apps/start.cpp.
extern "C" __attribute__((visibility("default"))) int gpuprof_main(int argc, char** argv) {
  try {
    app::take_standard_output();
    int exit_code = 0;
    const int printed = app::print_to_standard_output([&] {
      exit_code = run({argv + 1, argv + argc});
    });
    return printed != 0 ? printed : exit_code;
  } catch (const app::NvprofError& wrong) {
    for (const std::string& line : wrong.lines) std::fprintf(stderr, "======== %s\n", line.c_str());
    return static_cast<int>(wrong.exit_code);
  } catch (const Error& error) {
    std::fprintf(stderr, "gpuprof: %s\n", printable_lines(error.what()).c_str());
    if (!error.hint().empty()) {
      std::fprintf(stderr, "  %s\n", printable_lines(error.hint()).c_str());
    }
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpuprof: internal error: %s\n", printable_lines(error.what()).c_str());
    return static_cast<int>(ExitCode::internal);
  }
}
