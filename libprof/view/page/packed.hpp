// Bytes embedded in a page: deflated incrementally and written as base64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof::view {

class Packed {
 public:
  // Once the text exceeds `most` it is discarded, but still counted.
  explicit Packed(std::size_t most = SIZE_MAX);
  ~Packed();
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  void add(std::string_view bytes);
  // Nothing may be added afterwards.
  void finish();

  std::size_t size() const { return size_; }  // of the whole text, even if discarded
  bool fits() const { return size_ <= most_; }
  std::string take() { return std::move(text_); }

 private:
  void deflate_some(std::string_view bytes, bool last);
  void write(std::string_view bytes);
  void write_three();

  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::uint32_t waiting_ = 0;  // bytes of an incomplete group of three, the first in the high bits
  int waits_ = 0;
  std::string text_;
};

// Packs all of `bytes`.
std::string packed(std::string_view bytes);

}  // namespace gpuprof::view
