#include "apps/gpuprof/command/standard_output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "libprof/base/descriptor_buffer.hpp"
#include "libprof/base/error.hpp"

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

void refuse_terminal() {
  if (isatty(STDOUT_FILENO) != 1) return;
  throw Error("standard output is a terminal, and this output is not text",
              "send it to a file or a program", ExitCode::bad_option);
}

int copy_to_standard_output(const std::string& path) {
  return print_to_standard_output([&] {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 1 << 16> bytes;
    while (file.read(bytes.data(), bytes.size()), file.gcount() > 0) {
      std::cout.write(bytes.data(), file.gcount());
    }
  });
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t line_width(std::size_t least, std::size_t most) {
  const std::size_t width = terminal_width();
  return width == 0 ? 120 : std::clamp(width, least, most);
}

}  // namespace gpuprof::app
