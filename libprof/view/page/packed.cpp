#include "libprof/view/page/packed.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace gpuprof::view {

struct Packed::Stream {
  Stream() {
    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { deflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream z{};
  std::array<Bytef, 1 << 16> out;
};

Packed::Packed(std::size_t most) : stream_(std::make_unique<Stream>()), most_(most) {}
Packed::~Packed() = default;

void Packed::add(std::string_view bytes) {
  constexpr std::size_t part = 1 << 30;  // zlib counts in 32 bits
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size()))) {
    deflate_some(bytes.substr(0, part), false);
  }
}

void Packed::finish() {
  deflate_some({}, true);
  if (waits_ == 0) return;
  const int missing = 3 - waits_;
  for (int i = 0; i < missing; ++i) waiting_ <<= 8;
  write_three();
  if (!text_.empty()) std::fill(text_.end() - missing, text_.end(), '=');
}

void Packed::deflate_some(std::string_view bytes, bool last) {
  z_stream& z = stream_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads it
  z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = stream_->out.data();
    z.avail_out = static_cast<uInt>(stream_->out.size());
    deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    write({reinterpret_cast<const char*>(stream_->out.data()), stream_->out.size() - z.avail_out});
  } while (z.avail_out == 0);
}

void Packed::write(std::string_view bytes) {
  for (const char byte : bytes) {
    waiting_ = waiting_ << 8 | static_cast<unsigned char>(byte);
    if (++waits_ == 3) write_three();
  }
}

void Packed::write_three() {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_ += 4;
  if (fits()) {
    for (int shift = 18; shift >= 0; shift -= 6) text_ += letters[waiting_ >> shift & 63];
  } else if (!text_.empty()) {
    text_ = {};
  }
  waiting_ = 0;
  waits_ = 0;
}

std::string packed(std::string_view bytes) {
  Packed text;
  text.add(bytes);
  text.finish();
  return text.take();
}

}  // namespace gpuprof::view
