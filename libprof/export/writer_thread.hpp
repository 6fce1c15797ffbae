// Lets a FormatWriter write on a thread of its own while the next activities are read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "libprof/export/format.hpp"

namespace gpuprof::exporting {

// What the writer throws comes out of add() or finish(). Memory: a few thousand activities.
class WriterThread {
 public:
  explicit WriterThread(FormatWriter& writer);
  // What was not written by then is not.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  void add(const Activity& activity);
  // Until all is written; nothing is added afterwards.
  void finish();

 private:
  static constexpr std::size_t batch_size = 2048, most_batches = 4;
  using Batch = std::vector<Activity>;

  void hand_over();
  void run();

  FormatWriter& writer_;
  Batch batch_;

  std::mutex mutex_;  // guards the next
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  bool complete_ = false, stopped_ = false;
  std::exception_ptr problem_;

  std::thread thread_;
};

}  // namespace gpuprof::exporting
