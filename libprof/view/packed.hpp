// Bytes for a page to have in it: deflated as they come, and written as base64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof::view {

class Packed {
 public:
  // Of what becomes longer than `most` nothing is kept, but it is counted.
  explicit Packed(std::size_t most = SIZE_MAX);
  ~Packed();
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  void add(std::string_view bytes);
  // Nothing is added afterwards.
  void finish();

  std::size_t size() const { return size_; }  // of all text, with what is not kept
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
  std::uint32_t waiting_ = 0;  // bytes that do not make three yet, the first on top
  int waits_ = 0;
  std::string text_;
};

// Of all of it.
std::string packed(std::string_view bytes);

}  // namespace gpuprof::view
