#include <unistd.h>

#include <cstdio>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {
namespace {

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
  // As if the signal had ended the process.
  if (!read) return static_cast<int>(ExitCode::reader_gone);
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
