#include "libprof/record/launch/frame_queue.hpp"

#include <algorithm>
#include <utility>

#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {
namespace {

std::size_t size_of(const wire::Frame& frame) { return sizeof(wire::FrameHeader) + frame.length; }

}  // namespace

FrameQueue::FrameQueue(std::size_t memory_limit, std::string spill_folder,
                       std::optional<std::uint64_t> spill_limit)
    : memory_limit_(memory_limit), spill_(std::move(spill_folder), spill_limit) {}

std::size_t FrameQueue::most_memory() const {
  constexpr std::size_t enough = std::size_t{64} << 20;  // if the limit is small
  return std::max(2 * memory_limit_, enough);
}

void FrameQueue::push(wire::Frame frame) {
  const std::lock_guard lock(mutex_);
  const auto in_memory = [&](wire::Frame&& kept) {
    const std::size_t size = size_of(kept);
    (spill_.empty() ? older_ : newer_).push_back(std::move(kept));
    memory_used_ += size;
    counts_.accepted_bytes += size;
    pushed_.notify_one();
  };
  const bool fits = memory_used_ + size_of(frame) <= memory_limit_;
  if (spill_.empty() && fits) return in_memory(std::move(frame));
  // The disk may have room again for what it refused before.
  while (!newer_.empty() && spill(newer_.front())) {
    memory_used_ -= size_of(newer_.front());
    newer_.pop_front();
  }
  if (newer_.empty() && spill(frame)) {
    counts_.accepted_bytes += size_of(frame);
    pushed_.notify_one();
    return;
  }
  if (memory_used_ + size_of(frame) <= memory_limit_) return in_memory(std::move(frame));
  // Frames without which later ones make no sense are kept even beyond the limit, because those
  // from honest collectors are small.
  if (frame.type == wire::FrameType::batch || frame.type == wire::FrameType::batch_part) {
    counts_.discarded_bytes += size_of(frame);
    auto rest = wire::without_rows(frame);
    if (!rest) {
      counts_.discarded_blocks += 1;
      return;
    }
    frame = std::move(*rest);
  }
  if (!wire::is_launchers(frame.type) && memory_used_ + size_of(frame) > most_memory()) {
    counts_.discarded_blocks += 1;
    return;
  }
  in_memory(std::move(frame));
}

bool FrameQueue::pop(wire::Frame& frame) {
  const std::lock_guard lock(mutex_);
  if (!has_frames()) return false;
  if (older_.empty() && !spill_.empty()) {
    const std::uint64_t lost = spill_.lost();
    const bool read = spill_.read(frame);
    if (!read) {
      counts_.discarded_bytes += spill_.lost() - lost;
      counts_.discarded_blocks += 1;
    }
    if (spill_.empty()) older_.swap(newer_);
    return read;
  }
  frame = std::move(older_.front());
  older_.pop_front();
  memory_used_ -= size_of(frame);
  return true;
}

void FrameQueue::gather(std::size_t bytes, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  pushed_.wait_until(lock, until, [&] { return closed_ || waiting_bytes() >= bytes; });
}

void FrameQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pushed_.notify_all();
}

void FrameQueue::abandon() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(abandoned_, true)) return;
  closed_ = true;
  counts_.discarded_bytes += memory_used_ + spill_.waiting();
  counts_.discarded_blocks += older_.size() + newer_.size() + !spill_.empty();
  pushed_.notify_all();
}

bool FrameQueue::exhausted() {
  const std::lock_guard lock(mutex_);
  return closed_ && !has_frames();
}

FrameQueue::Counts FrameQueue::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.waiting_bytes = waiting_bytes();
  return counts;
}

bool FrameQueue::spill(const wire::Frame& frame) {
  if (!spill_.write(frame)) return false;
  counts_.spilled_bytes += size_of(frame);
  return true;
}

}  // namespace gpuprof::launch
