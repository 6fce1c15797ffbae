#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/log.hpp"
#include "libprof/store/profile_file.hpp"

namespace gpuprof::app {
namespace {

constexpr char refused[] = "Error: Unable to import nvprof generated profile data.";

}  // namespace

int import_command(const Options& options) {
  if (access(options.input.c_str(), F_OK) != 0) {
    // nvprof's words, SQLite's among them; it tries twice.
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::fputs("fatal   : Problem during SQL operation: unable to open database file\n", stderr);
    }
    throw NvprofError{{refused}, ExitCode::import_failed};
  }
  signal(SIGPIPE, SIG_IGN);
  Log log(options, true, getpid());
  store::ProfileFile file(options.input);
  if (file.problem()) {
    // nvprof's line, and the reason.
    std::fprintf(stderr, "======== %s\n", refused);
    throw Error(*file.problem());
  }
  bool read = true;
  file.read([&](store::Database& database) {
    if (options.quiet) return;
    read = log.report(database, options.reports.prefix, file.notes());
  });
  // As if the signal had ended us.
  if (!read) return 128 + SIGPIPE;
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
