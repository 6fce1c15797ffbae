#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/log.hpp"

namespace gpuprof::app {

int import_command(const Options& options) {
  // A reader that has seen enough ends us, whatever our parent made of the signal.
  signal(SIGPIPE, SIG_DFL);
  struct stat status {};
  if (stat(options.input.c_str(), &status) != 0) {
    throw Error(options.input + ": " + std::strerror(errno), "", ExitCode::import_failed);
  }
  Log log(options, true, getpid());
  store::Database database(options.input, store::Database::Mode::read_only);
  if (!options.quiet) log.report(database, options.reports.prefix);
  return 0;
}

}  // namespace gpuprof::app
