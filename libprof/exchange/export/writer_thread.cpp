#include "libprof/exchange/export/writer_thread.hpp"

#include <utility>

namespace gpuprof::exporting {

WriterThread::WriterThread(FormatWriter& writer) : writer_(writer), thread_([this] { run(); }) {
  batch_.reserve(batch_size);
}

WriterThread::~WriterThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WriterThread::add(const Activity& activity) {
  batch_.push_back(activity);
  if (batch_.size() == batch_size) hand_over();
}

void WriterThread::finish() {
  hand_over();
  {
    const std::lock_guard lock(mutex_);
    complete_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (problem_) std::rethrow_exception(problem_);
}

void WriterThread::hand_over() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < most_batches || problem_; });
  if (problem_) std::rethrow_exception(problem_);
  waiting_.push_back(std::exchange(batch_, {}));
  lock.unlock();
  changed_.notify_all();
  batch_.reserve(batch_size);
}

void WriterThread::run() {
  try {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !waiting_.empty() || complete_ || stopped_; });
      if (stopped_ || waiting_.empty()) return;
      const Batch batch = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      changed_.notify_all();
      for (const Activity& activity : batch) writer_.add(activity);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    problem_ = std::current_exception();
  }
  changed_.notify_all();
}

}  // namespace gpuprof::exporting
