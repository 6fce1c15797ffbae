#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {
namespace {

// Reports go to standard error, as nvprof's do: who sends standard output to a file gets nothing.
bool is_output_elsewhere(const Options& options) {
  struct stat status {};
  return options.log_file.empty() && isatty(STDERR_FILENO) == 1 &&
         fstat(STDOUT_FILENO, &status) == 0 &&
         (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode));
}

constexpr char refused[] = "Error: Unable to import nvprof generated profile data.";

}  // namespace

int import_command(const Options& options) {
  Log log(options, true, getpid());
  reading::ProfileFile file(options.input);
  if (file.problem()) {
    // nvprof's line, and the reason; a missing file needs no more.
    if (file.size() >= 0) std::fprintf(stderr, "======== %s\n", refused);
    throw Error(*file.problem());
  }
  bool read = true;
  file.read([&](store::Database& database) {
    if (options.quiet) return;
    read = log.report(database, options.reports.prefix, file.notes());
  });
  const report::Layout layout = options.reports.layout;
  if (read && !options.quiet && layout == report::Layout::text && is_output_elsewhere(options)) {
    log.say("standard output got nothing: --log-file %1 sends reports there");
  }
  // As if the signal had ended the process.
  if (!read) return static_cast<int>(ExitCode::reader_gone);
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
