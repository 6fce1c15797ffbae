#include "libprof/base/second_thread.hpp"

#include <system_error>
#include <utility>

namespace gpuprof {

SecondThread::~SecondThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SecondThread::begin(std::function<void()> work) {
  bool has_thread = thread_.joinable();
  try {
    if (!has_thread) thread_ = std::thread([this] { run(); });
    has_thread = true;
  } catch (const std::system_error&) {
    // There is no room for one.
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  if (has_thread) return changed_.notify_all();
  do_work();
  work_ = nullptr;
}

void SecondThread::end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
  if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) {
    std::rethrow_exception(thrown);
  }
}

void SecondThread::call_both(const std::function<void()>& own, const std::function<void()>& other) {
  begin(other);
  try {
    own();
  } catch (...) {
    try {
      end();
    } catch (...) {
      // What `own` threw counts.
    }
    throw;
  }
  end();
}

void SecondThread::do_work() {
  try {
    work_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void SecondThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || is_over_; });
    if (!work_) return;
    lock.unlock();
    do_work();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace gpuprof
