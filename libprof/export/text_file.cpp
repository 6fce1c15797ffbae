#include "libprof/export/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/utf8.hpp"

namespace gpuprof::exporting {

TextFile::TextFile(const std::string& path, std::string name)
    : name_(std::move(name)), file_(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)) {
  if (file_ < 0) {
    throw Error(name_ + " cannot be written: " + std::strerror(errno), "", ExitCode::output_failed);
  }
}

TextFile::~TextFile() {
  if (file_ >= 0) close(file_);
}

void TextFile::finish() { write(); }

void TextFile::write() {
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(name_ + " cannot be written: " + std::strerror(errno), "",
                  ExitCode::output_failed);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  waiting_.clear();
}

std::string in_json(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\u00";
      quoted += digits[byte >> 4];
      quoted += digits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace gpuprof::exporting
