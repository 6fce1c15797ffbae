// Frames between the thread that drains the sockets and the one that loads them.
//
// Never blocks the pushing side: frames that do not fit in memory wait on disk. A frame for which
// there is no room at all loses its rows: they are discarded, and their number is passed on
// instead. Frames come out in the order in which they went in, wherever they wait. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "libprof/record/launch/spill.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class FrameQueue {
 public:
  // `spill_folder` and `spill_limit`: see Spill.
  FrameQueue(std::size_t memory_limit, std::string spill_folder,
             std::optional<std::uint64_t> spill_limit = {});
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  void push(wire::Frame frame);
  // Does not wait. false: nothing is there, or what was on disk cannot be read.
  bool pop(wire::Frame& frame);
  // Returns when that many bytes wait, when nothing more will come, or at this time.
  void gather(std::size_t bytes, std::chrono::steady_clock::time_point until);
  // Nothing is pushed after this.
  void close();
  // Discards and counts everything that waits. Nothing comes out any more.
  void abandon();
  bool exhausted();  // closed, and everything was popped

  struct Counts {
    std::uint64_t spilled_bytes = 0;
    std::uint64_t discarded_bytes = 0;
    std::uint64_t discarded_blocks = 0;  // with unknown contents
    std::uint64_t waiting_bytes = 0;     // in memory and on disk
    std::uint64_t accepted_bytes = 0;    // so far, including those
  };
  Counts counts();

 private:
  bool has_frames() const { return !abandoned_ && (!older_.empty() || !spill_.empty()); }
  std::uint64_t waiting_bytes() const { return abandoned_ ? 0 : memory_used_ + spill_.waiting(); }
  bool spill(const wire::Frame& frame);
  std::size_t most_memory() const;  // the limit when the disk is full too

  const std::size_t memory_limit_;
  std::mutex mutex_;                // guards the members below
  std::condition_variable pushed_;  // also notified when the queue is closed
  // In order: older_, frames on disk, newer_. The last is empty unless frames are on disk.
  std::deque<wire::Frame> older_;
  Spill spill_;
  std::deque<wire::Frame> newer_;
  std::size_t memory_used_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
  Counts counts_;
};

}  // namespace gpuprof::launch
