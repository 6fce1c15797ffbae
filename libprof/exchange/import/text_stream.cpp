#include "libprof/exchange/import/text_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <streambuf>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/exchange/import/mended_json.hpp"

namespace gpuprof::importing {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 18;

Error unreadable(const std::string& path, const std::string& why) {
  return Error(path + ": " + why, "", ExitCode::import_failed);
}

}  // namespace

class TextStream::Buffer : public std::streambuf {
 public:
  Buffer(const std::string& path, std::function<void(int)> block)
      : block_(std::move(block)),
        file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
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
    deflated_ = is_packed();
    // 16: gzip format only
    if (deflated_ && inflateInit2(&unpacking_, MAX_WBITS + 16) != Z_OK) {
      close(file_);
      throw unreadable(path, "no memory to unpack it");
    }
  }
  ~Buffer() override {
    if (deflated_) inflateEnd(&unpacking_);
    close(file_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const std::string& problem() const { return problem_; }
  const std::string& note() const { return note_; }
  std::uint64_t mended_texts() const { return mender_.texts(); }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    if (block_) block_(size_ > 0 ? static_cast<int>(100 * total_ / size_) : 100);
    // What the mender could not decide yet comes first.
    std::memmove(text_.data(), text_.data() + done_, filled_ - done_);
    filled_ -= std::exchange(done_, 0);
    while (done_ == 0 && problem_.empty()) {
      const std::span<char> room = std::span(text_).subspan(filled_);
      const std::size_t got = deflated_ ? unpack(room) : copy(room);
      filled_ += got;
      done_ = mender_.mend(std::span(text_).first(filled_), got == 0);
      if (mender_.too_long()) {
        problem_ = "holds a text of more than 16 MiB";
        done_ = 0;
      }
      if (got == 0) break;
    }
    setg(text_.data(), text_.data(), text_.data() + done_);
    return done_ > 0 ? traits_type::to_int_type(*gptr()) : traits_type::eof();
  }

 private:
  // Appends to the unused rest.
  void fill() {
    std::memmove(read_.data(), read_.data() + at_, in_ - at_);
    in_ -= std::exchange(at_, 0);
    ssize_t got = 0;
    do {
      got = read(file_, read_.data() + in_, read_.size() - in_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) problem_ = std::string("cannot be read: ") + std::strerror(errno);
    if (got <= 0) return;
    in_ += static_cast<std::size_t>(got);
    total_ += got;
  }

  bool is_packed() const { return in_ - at_ >= 2 && read_[at_] == 0x1f && read_[at_ + 1] == 0x8b; }

  std::size_t copy(std::span<char> to) {
    if (at_ == in_) fill();
    const std::size_t count = std::min(in_ - at_, to.size());
    std::memcpy(to.data(), read_.data() + at_, count);
    at_ += count;
    return count;
  }

  // Several concatenated gzip files count as one.
  std::size_t unpack(std::span<char> to) {
    unpacking_.next_out = reinterpret_cast<Bytef*>(to.data());
    unpacking_.avail_out = static_cast<uInt>(to.size());
    while (unpacking_.avail_out == to.size()) {
      if (in_ - at_ < 2) fill();
      if (in_ == at_) {
        if (!whole_ && problem_.empty())
          problem_ = "is cut off: the end of its compressed data is missing";
        break;
      }
      if (whole_ && !is_packed()) {  // like gunzip
        note_ = "what follows its compressed data is ignored";
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
    return to.size() - unpacking_.avail_out;
  }

  std::function<void(int)> block_;
  int file_;
  std::int64_t size_ = 0, total_ = 0;
  std::vector<unsigned char> read_;
  std::size_t in_ = 0, at_ = 0;  // bytes present in read_, and how many of them are used
  std::vector<char> text_;
  std::size_t filled_ = 0, done_ = 0;  // bytes present in text_, and how many of them are mended
  bool deflated_ = false, whole_ = false;
  z_stream unpacking_{};
  JsonMender mender_;
  std::string problem_, note_;
};

TextStream::TextStream(const std::string& path, std::function<void(int)> block)
    : buffer_(std::make_unique<Buffer>(path, std::move(block))), stream_(buffer_.get()) {}

TextStream::~TextStream() = default;

const std::string& TextStream::problem() const { return buffer_->problem(); }

const std::string& TextStream::note() const { return buffer_->note(); }

std::uint64_t TextStream::mended_texts() const { return buffer_->mended_texts(); }

}  // namespace gpuprof::importing
