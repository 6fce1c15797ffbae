#include "libprof/launch/frame_queue.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "libprof/base/whole.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {
namespace {

int open_nameless(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // Not every file system has nameless files.
  std::string path = folder + "/.gpuprof-spill-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

// A batch without its rows, for later batches name its strings by number. Nothing: it has none.
std::optional<wire::Frame> only_strings(const wire::Frame& frame) {
  auto batch = wire::decode_batch(frame.payload());
  if (!batch) return std::nullopt;
  std::erase_if(batch->blocks,
                [](const wire::Block& block) { return block.table != wire::string_block; });
  if (batch->blocks.empty()) return std::nullopt;
  batch->header.blocks = static_cast<std::uint32_t>(batch->blocks.size());
  wire::Encoder encoder;
  encoder.integer(batch->header);
  for (const wire::Block& block : batch->blocks) {
    encoder.integer(wire::BlockHeader{block.table, block.rows, block.bytes.size()});
    encoder.raw(block.bytes);
  }
  return wire::make_frame(frame.type, frame.stream, encoder.bytes());
}

}  // namespace

FrameQueue::FrameQueue(std::size_t memory_limit, std::string spill_folder)
    : memory_limit_(memory_limit), spill_folder_(std::move(spill_folder)) {}

FrameQueue::~FrameQueue() {
  if (spill_file_ >= 0) ::close(spill_file_);
}

void FrameQueue::push(wire::Frame frame) {
  const std::lock_guard lock(mutex_);
  std::size_t size = sizeof(wire::FrameHeader) + frame.length;
  const bool spilling = spill_written_ > spill_read_;
  if (spilling || memory_used_ + size > memory_limit_) {
    if (spill(frame)) {
      counts_.spilled_bytes += size;
      pushed_.notify_one();
      return;
    }
    // What later frames make no sense without is kept, whatever the limit says: it is small.
    if (frame.type == wire::FrameType::batch) {
      counts_.discarded_bytes += size;
      counts_.discarded_blocks += 1;
      auto strings = only_strings(frame);
      if (!strings) return;
      frame = std::move(*strings);
    }
    size = sizeof(wire::FrameHeader) + frame.length;
  }
  memory_used_ += size;
  frames_.push_back(std::move(frame));
  pushed_.notify_one();
}

bool FrameQueue::pop(wire::Frame& frame, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return !frames_.empty() || spill_written_ > spill_read_ || closed_; };
  pushed_.wait_for(lock, patience, there);
  if (!frames_.empty()) {
    frame = std::move(frames_.front());
    frames_.pop_front();
    memory_used_ -= sizeof(wire::FrameHeader) + frame.length;
    return true;
  }
  return spill_written_ > spill_read_ && unspill(frame);
}

void FrameQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pushed_.notify_all();
}

bool FrameQueue::exhausted() {
  const std::lock_guard lock(mutex_);
  return closed_ && frames_.empty() && spill_written_ == spill_read_;
}

FrameQueue::Counts FrameQueue::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.waiting_bytes = memory_used_ + (spill_written_ - spill_read_);
  return counts;
}

bool FrameQueue::spill(const wire::Frame& frame) {
  if (spill_file_ < 0) spill_file_ = open_nameless(spill_folder_);
  if (spill_file_ < 0) return false;
  const wire::FrameHeader header{static_cast<std::uint32_t>(frame.type), frame.stream,
                                 frame.length};
  if (!write_whole(spill_file_, std::as_bytes(std::span(&header, 1)), spill_written_) ||
      !write_whole(spill_file_, {frame.bytes.get(), frame.length},
                   spill_written_ + sizeof header)) {
    return false;
  }
  spill_written_ += sizeof header + frame.length;
  return true;
}

bool FrameQueue::unspill(wire::Frame& frame) {
  wire::FrameHeader header{};
  if (read_whole(spill_file_, std::as_writable_bytes(std::span(&header, 1)), spill_read_)) {
    frame.type = static_cast<wire::FrameType>(header.type);
    frame.stream = header.stream;
    frame.length = static_cast<std::size_t>(header.length);
    frame.bytes = std::make_unique_for_overwrite<std::byte[]>(frame.length);
    if (read_whole(spill_file_, {frame.bytes.get(), frame.length}, spill_read_ + sizeof header)) {
      spill_read_ += sizeof header + frame.length;
      if (spill_read_ == spill_written_) {
        // Give the room back. Where that fails the file just grows on.
        if (ftruncate(spill_file_, 0) == 0) spill_read_ = spill_written_ = 0;
      }
      return true;
    }
  }
  // The disk does not give back what it took: nothing behind can be trusted either.
  counts_.discarded_bytes += spill_written_ - spill_read_;
  counts_.discarded_blocks += 1;
  spill_read_ = spill_written_;
  return false;
}

}  // namespace gpuprof::launch
