#include "libprof/import/text_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <streambuf>
#include <vector>

#include "libprof/base/error.hpp"

namespace gpuprof::importing {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 18;

Error unreadable(const std::string& path, const std::string& why) {
  return Error(path + ": " + why, "", ExitCode::import_failed);
}

}  // namespace

class TextStream::Buffer : public std::streambuf {
  // How long the words and quoted texts of JSON are.
  class WordLength {
   public:
    // False: one is too long.
    bool takes(std::string_view text) {
      for (const char c : text) {
        if (quoted_) {
          if (escaped_) {
            escaped_ = false;
          } else if (c == '\\') {
            escaped_ = true;
          } else if (c == '"') {
            quoted_ = false;
          }
          if (++length_ > TextStream::longest_word) return false;
        } else if (c == '"') {
          quoted_ = true;
          length_ = 0;
        } else if (c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']' ||
                   c == ' ' || c == '\n') {
          length_ = 0;
        } else if (++length_ > TextStream::longest_word) {
          return false;
        }
      }
      return true;
    }

   private:
    bool quoted_ = false, escaped_ = false;
    std::size_t length_ = 0;
  };

 public:
  explicit Buffer(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        read_(block_size),
        text_(block_size) {
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0) {
      const int failed = errno;
      if (file_ >= 0) close(file_);
      throw unreadable(path, std::strerror(failed));
    }
    if (!S_ISREG(status.st_mode)) {
      close(file_);
      throw unreadable(path, "no ordinary file");
    }
    size_ = status.st_size;
    fill();
    deflated_ = in_ >= 2 && read_[0] == 0x1f && read_[1] == 0x8b;
    // 16: the format of gzip, and no other.
    if (deflated_ && inflateInit2(&unpacking_, MAX_WBITS + 16) != Z_OK) {
      close(file_);
      throw unreadable(path, "no memory to unpack it");
    }
    underflow();
  }
  ~Buffer() override {
    if (deflated_) inflateEnd(&unpacking_);
    close(file_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::string_view there() const { return {gptr(), static_cast<std::size_t>(egptr() - gptr())}; }
  const std::string& problem() const { return problem_; }
  int percent() const { return size_ > 0 ? static_cast<int>(100 * total_ / size_) : 100; }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    const std::size_t got = problem_.empty() ? (deflated_ ? unpack() : copy()) : 0;
    if (!words_.takes({text_.data(), got})) {
      problem_ = "holds a text of more than 16 MiB";
      return traits_type::eof();
    }
    setg(text_.data(), text_.data(), text_.data() + got);
    return got > 0 ? traits_type::to_int_type(*gptr()) : traits_type::eof();
  }

 private:
  void fill() {
    ssize_t got = 0;
    do {
      got = read(file_, read_.data(), read_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) problem_ = std::string("cannot be read: ") + std::strerror(errno);
    in_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    at_ = 0;
    total_ += static_cast<std::int64_t>(in_);
  }

  std::size_t copy() {
    if (at_ == in_) fill();
    const std::size_t count = in_ - at_;
    std::memcpy(text_.data(), read_.data() + at_, count);
    at_ = in_;
    return count;
  }

  // Several files of gzip, one behind the other, are one.
  std::size_t unpack() {
    unpacking_.next_out = reinterpret_cast<Bytef*>(text_.data());
    unpacking_.avail_out = static_cast<uInt>(text_.size());
    while (unpacking_.avail_out == text_.size()) {
      if (at_ == in_) fill();
      if (in_ == 0) {
        if (!whole_ && problem_.empty())
          problem_ = "is cut off: the end of its compressed data is missing";
        break;
      }
      if (whole_ && inflateReset(&unpacking_) != Z_OK) break;
      unpacking_.next_in = read_.data() + at_;
      unpacking_.avail_in = static_cast<uInt>(in_ - at_);
      const int result = inflate(&unpacking_, Z_NO_FLUSH);
      at_ = in_ - unpacking_.avail_in;
      whole_ = result == Z_STREAM_END;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        problem_ = "is damaged: its compressed data makes no sense";
        break;
      }
    }
    return text_.size() - unpacking_.avail_out;
  }

  int file_;
  std::int64_t size_ = 0, total_ = 0;
  std::vector<unsigned char> read_;
  std::size_t in_ = 0, at_ = 0;  // of read_: how much is there, and how much of that was used
  std::vector<char> text_;
  bool deflated_ = false, whole_ = false;
  z_stream unpacking_{};
  WordLength words_;
  std::string problem_;
};

TextStream::TextStream(const std::string& path)
    : buffer_(std::make_unique<Buffer>(path)), stream_(buffer_.get()) {}

TextStream::~TextStream() = default;

std::string_view TextStream::beginning() { return buffer_->there(); }

const std::string& TextStream::problem() const { return buffer_->problem(); }

int TextStream::percent() const { return buffer_->percent(); }

}  // namespace gpuprof::importing
