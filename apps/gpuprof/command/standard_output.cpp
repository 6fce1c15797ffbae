#include "apps/gpuprof/command/standard_output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include "libprof/base/descriptor_buffer.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {
namespace {

DescriptorBuffer& standard_output() {
  static DescriptorBuffer& buffer = *new DescriptorBuffer(STDOUT_FILENO);  // std::cout outlives all
  return buffer;
}

}  // namespace

void take_standard_output() {
  std::cout.rdbuf(&standard_output());
  std::cout.exceptions(std::ios::badbit);
}

int print_to_standard_output(const std::function<void()>& print) {
  try {
    print();
    std::cout.flush();
  } catch (const std::ios::failure&) {
    if (standard_output().error() == 0) throw;
  }
  const int error = standard_output().error();
  if (error == EPIPE) return static_cast<int>(ExitCode::reader_gone);
  if (error == 0) return 0;
  throw Error(std::string("standard output cannot be written: ") + std::strerror(error), "",
              ExitCode::output_failed);
}

int tell_notes(const reading::ProfileFile& file) {
  for (const std::string& note : file.notes()) {
    std::cerr << "gpuprof: " << printable_lines(note) << '\n';
  }
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
