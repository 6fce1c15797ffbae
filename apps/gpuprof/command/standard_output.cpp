#include "apps/gpuprof/command/standard_output.hpp"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {

int print_to_standard_output(const std::function<void()>& print) {
  signal(SIGPIPE, SIG_IGN);  // the reader may have seen enough, and copies are to be removed
  std::cout.exceptions(std::ios::badbit);
  try {
    print();
    std::cout.flush();
  } catch (const std::ios::failure&) {
    const int why = errno;
    std::cout.exceptions(std::ios::goodbit);
    if (why == EPIPE) return static_cast<int>(ExitCode::reader_gone);
    throw Error(std::string("standard output cannot be written: ") + std::strerror(why), "",
                ExitCode::output_failed);
  }
  std::cout.exceptions(std::ios::goodbit);
  return 0;
}

int tell_notes(const reading::ProfileFile& file) {
  for (const std::string& note : file.notes()) {
    std::cerr << "gpuprof: " << printable_lines(note) << '\n';
  }
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
