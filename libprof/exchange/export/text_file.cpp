#include "libprof/exchange/export/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::exporting {

class TextFile::Gzip {
 public:
  explicit Gzip(const char* comment) : comment_(comment) {
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw std::bad_alloc();
    }
    header_.os = 255;  // unknown
    header_.comment = reinterpret_cast<Bytef*>(comment_.data());
    deflateSetHeader(&stream_, &header_);
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Calls write(bytes) with the output. `last`: nothing follows.
  template <class Write>
  void add(std::string& text, bool last, Write&& write) {
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = packed_.data();
      stream_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      write(std::string_view(reinterpret_cast<const char*>(packed_.data()),
                             packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  std::string comment_;
  gz_header header_{};
  z_stream stream_{};
  std::array<Bytef, 1 << 16> packed_;
};

TextFile::TextFile(const std::string& path, std::string name, const char* gzip)
    : name_(std::move(name)),
      file_(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)),
      gzip_(*gzip ? std::make_unique<Gzip>(gzip) : nullptr) {
  if (file_ < 0) {
    throw Error(name_ + " cannot be written: " + std::strerror(errno), "", ExitCode::output_failed);
  }
}

TextFile::~TextFile() {
  if (file_ >= 0) close(file_);
}

void TextFile::finish() {
  if (gzip_) {
    gzip_->add(waiting_, true, [this](std::string_view packed) { write_out(packed); });
    waiting_.clear();
  }
  write();
}

void TextFile::write() {
  if (gzip_ && !waiting_.empty()) {
    gzip_->add(waiting_, false, [this](std::string_view packed) { write_out(packed); });
  } else {
    write_out(waiting_);
  }
  waiting_.clear();
}

void TextFile::write_out(std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(name_ + " cannot be written: " + std::strerror(errno), "",
                  ExitCode::output_failed);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace gpuprof::exporting
