#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {

int import_command(const Options& options) {
  struct stat status {};
  if (stat(options.input.c_str(), &status) != 0) {
    throw Error(options.input + ": " + std::strerror(errno), "", ExitCode::import_failed);
  }
  store::Database database(options.input, store::Database::Mode::read_only);
  report::print_reports(database, std::cerr, options.reports);
  return 0;
}

}  // namespace gpuprof::app
