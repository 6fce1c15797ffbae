// Lets a FormatWriter write on its own thread while the next activities are read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "libprof/exchange/export/format.hpp"

namespace gpuprof::exporting {

// Exceptions from the writer are rethrown by add() or finish(). Memory: a few thousand activities.
class WriterThread {
 public:
  explicit WriterThread(FormatWriter& writer);
  // Discards what has not been written yet.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  void add(const Activity& activity);
  // Waits until everything is written; nothing may be added afterwards.
  void finish();

 private:
  static constexpr std::size_t batch_size = 2048, most_batches = 4;
  using Batch = std::vector<Activity>;

  void hand_over();
  void run();

  FormatWriter& writer_;
  Batch batch_;

  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  bool complete_ = false, stopped_ = false;
  std::exception_ptr problem_;

  std::thread thread_;
};

}  // namespace gpuprof::exporting
