#include "libprof/wire/frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuprof::wire {
namespace {

// Allocated for a payload before any of it arrives. Large enough for a batch of a 1 MiB slot, to
// avoid copying it.
constexpr std::size_t first_bytes = std::size_t{4} << 20;

}  // namespace

Frame make_frame(FrameType type, std::uint32_t stream, std::span<const std::byte> payload) {
  Frame frame{type, stream, payload.size(),
              std::make_unique_for_overwrite<std::byte[]>(payload.size())};
  if (!payload.empty()) std::memcpy(frame.bytes.get(), payload.data(), payload.size());
  return frame;
}

std::span<std::byte> FrameAssembler::room() {
  if (!damaged_.empty() || complete_) return {};
  if (header_filled_ < sizeof header_) {
    return std::span(reinterpret_cast<std::byte*>(&header_), sizeof header_)
        .subspan(header_filled_);
  }
  return {frame_.bytes.get() + payload_filled_, capacity_ - payload_filled_};
}

void FrameAssembler::filled(std::size_t count) {
  if (header_filled_ < sizeof header_) {
    header_filled_ += count;
    if (header_filled_ == sizeof header_) header_done();
    return;
  }
  payload_filled_ += count;
  complete_ = payload_filled_ == frame_.length;
  if (!complete_ && payload_filled_ == capacity_) grow(std::min(2 * capacity_, frame_.length));
}

void FrameAssembler::header_done() {
  if (header_.length > max_payload || header_.type == 0 || header_.type > 0xffff) {
    damaged_ = "no frame header where one should be (type " + std::to_string(header_.type) +
               ", length " + std::to_string(header_.length) + ")";
    return;
  }
  frame_.type = static_cast<FrameType>(header_.type);
  frame_.stream = header_.stream;
  frame_.length = static_cast<std::size_t>(header_.length);
  payload_filled_ = 0;
  complete_ = frame_.length == 0;
  grow(std::min(first_bytes, frame_.length));
}

void FrameAssembler::grow(std::size_t capacity) {
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (payload_filled_ > 0) std::memcpy(bytes.get(), frame_.bytes.get(), payload_filled_);
  frame_.bytes = std::move(bytes);
  capacity_ = capacity;
}

Frame FrameAssembler::take() {
  header_filled_ = 0;
  capacity_ = 0;
  complete_ = false;
  return std::move(frame_);
}

}  // namespace gpuprof::wire
