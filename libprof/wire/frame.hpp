// Frames off the wire, however the bytes arrive: piecemeal from a socket, or from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

// A frame and its bytes. Moves from thread to thread; one owner at a time.
struct Frame {
  FrameType type{};
  std::uint32_t stream{};
  std::size_t length{};
  std::unique_ptr<std::byte[]> bytes;

  std::span<const std::byte> payload() const { return {bytes.get(), length}; }
};

Frame make_frame(FrameType type, std::uint32_t stream, std::span<const std::byte> payload);

// Assembles frames from whatever arrives. Ask `room()` where the next bytes go, put up to that many
// there, report how many with `filled()`, and take each complete frame. Once `damaged()` is not
// empty, nothing more can be read.
//
// The length in a header is not trusted: memory for the payload is allocated as it arrives.
class FrameAssembler {
 public:
  std::span<std::byte> room();
  void filled(std::size_t count);  // unusable after std::bad_alloc
  bool complete() const { return complete_; }
  Frame take();

  // Bytes allocated for an incomplete frame.
  std::size_t held() const { return complete_ ? 0 : capacity_; }

  const std::string& damaged() const { return damaged_; }
  bool in_the_middle() const { return header_filled_ != 0 && !complete_; }

 private:
  void header_done();
  void grow(std::size_t capacity);

  FrameHeader header_{};
  std::size_t header_filled_ = 0;
  Frame frame_;
  std::size_t payload_filled_ = 0;
  std::size_t capacity_ = 0;  // of frame_.bytes
  bool complete_ = false;
  std::string damaged_;
};

}  // namespace gpuprof::wire
