// Frames between the thread that drains the sockets and the one that loads them.
//
// Never blocks the side that pushes: what memory has no room for waits in a file, in order. What
// the file has no room for is discarded and counted. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class FrameQueue {
 public:
  // `spill_folder` holds the file, which has no name and vanishes with the process.
  FrameQueue(std::size_t memory_limit, std::string spill_folder);
  ~FrameQueue();
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  void push(wire::Frame frame);
  // false: nothing came in time, or nothing will come any more.
  bool pop(wire::Frame& frame, std::chrono::milliseconds patience);
  // Nothing is pushed after this.
  void close();
  bool exhausted();  // closed, and all was popped

  struct Counts {
    std::uint64_t spilled_bytes = 0;
    std::uint64_t discarded_bytes = 0;
    std::uint64_t discarded_blocks = 0;
    std::uint64_t waiting_bytes = 0;  // in memory and in the file
  };
  Counts counts();

 private:
  bool spill(const wire::Frame& frame);
  bool unspill(wire::Frame& frame);

  const std::size_t memory_limit_;
  const std::string spill_folder_;
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<wire::Frame> frames_;
  std::size_t memory_used_ = 0;
  int spill_file_ = -1;
  std::uint64_t spill_read_ = 0;
  std::uint64_t spill_written_ = 0;
  bool closed_ = false;
  Counts counts_;
};

}  // namespace gpuprof::launch
