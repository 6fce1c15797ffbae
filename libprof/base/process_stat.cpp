#include "libprof/base/process_stat.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <sstream>

namespace gpuprof {

std::vector<std::string> process_stat(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 4096> bytes;  // 52 numbers, and a name of 64 bytes at most
  const ssize_t got = read(file, bytes.data(), bytes.size());
  close(file);
  if (got <= 0) return {};
  const std::string text(bytes.data(), static_cast<std::size_t>(got));
  // The name may contain anything.
  const std::size_t name = text.rfind(") ");
  if (name == text.npos) return {};
  std::istringstream rest(text.substr(name + 2));
  return {std::istream_iterator<std::string>(rest), {}};
}

}  // namespace gpuprof
