#include <cstdio>
#include <exception>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"

int main(int argc, char** argv) {
  using namespace gpuprof;
  try {
    int exit_code = 0;
    const auto options = app::parse_options(argc, argv, exit_code);
    if (!options) return exit_code;
    switch (options->command) {
      case app::Command::run: return app::run_command(*options);
      case app::Command::replay: return app::replay_command(*options);
      case app::Command::import: return app::import_command(*options);
      case app::Command::schema: return app::schema_command();
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "gpuprof: %s\n", error.what());
    if (!error.hint().empty()) std::fprintf(stderr, "  %s\n", error.hint().c_str());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpuprof: internal error: %s\n", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
