#include "libprof/conclude/compare/small_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "libprof/base/error.hpp"

namespace gpuprof::compare {
namespace {

constexpr int deepest = 8;

// Closes it.
class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return file_; }

 private:
  int file_;
};

[[noreturn]] void fail(const std::string& path, const std::string& why, ExitCode code) {
  throw Error(path + ": " + why, "", code);
}

// -1: there is no such regular file.
int open_regular(const std::string& path, struct stat& status) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file >= 0 && (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
    close(file);
    errno = EINVAL;
    return -1;
  }
  return file;
}

}  // namespace

std::string read_small_file(const std::string& path, std::size_t most) {
  struct stat status {};
  const OpenFile file(open_regular(path, status));
  if (file.number() < 0) {
    fail(path, errno == EINVAL ? "it is not a regular file" : std::strerror(errno),
         ExitCode::import_failed);
  }
  if (static_cast<std::size_t>(status.st_size) > most) {
    fail(path, "it is larger than " + std::to_string(most) + " bytes", ExitCode::import_failed);
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(file.number(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, std::strerror(errno), ExitCode::import_failed);
    if (got == 0) break;  // it became shorter
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

bool is_json_file(const std::string& path) {
  struct stat status {};
  const OpenFile file(open_regular(path, status));
  char first = 0;
  return file.number() >= 0 && read(file.number(), &first, 1) == 1 && first == '{';
}

nlohmann::json parse_json(const std::string& text, const std::string& path) {
  using Json = nlohmann::json;
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) fail(path, "it is nested too deeply", ExitCode::import_failed);
    return true;
  };
  Json all = Json::parse(text, check_depth, false);
  if (all.is_discarded()) fail(path, "it is not JSON", ExitCode::import_failed);
  return all;
}

}  // namespace gpuprof::compare
