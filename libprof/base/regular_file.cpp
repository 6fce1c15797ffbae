#include "libprof/base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace gpuprof {

Descriptor open_regular(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  struct stat status {};
  if (*file >= 0 && (fstat(*file, &status) != 0 || !S_ISREG(status.st_mode))) {
    errno = EINVAL;
    return Descriptor(-1);
  }
  return file;
}

std::optional<std::string> read_up_to(int file, std::size_t most) {
  std::string text;
  std::vector<char> piece(std::min(most, std::size_t{64} << 10));
  while (text.size() < most) {
    const ssize_t got = read(file, piece.data(), std::min(piece.size(), most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_beginning(const std::string& path, std::size_t most) {
  const Descriptor file = open_regular(path);
  return *file < 0 ? std::nullopt : read_up_to(*file, most);
}

}  // namespace gpuprof
