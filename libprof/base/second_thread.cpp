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

void SecondThread::call_both(const std::function<void()>& own, const std::function<void()>& other) {
  if (!start(other)) {
    own();
    return other();
  }
  std::exception_ptr of_own;
  try {
    own();
  } catch (...) {
    of_own = std::current_exception();
  }
  const std::exception_ptr of_other = wait();
  if (of_own) std::rethrow_exception(of_own);
  if (of_other) std::rethrow_exception(of_other);
}

bool SecondThread::start(const std::function<void()>& other) {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &other;
  }
  changed_.notify_all();
  return true;
}

std::exception_ptr SecondThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
  return std::exchange(thrown_, nullptr);
}

void SecondThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || is_over_; });
    if (!work_) return;
    const std::function<void()>& work = *work_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = std::move(thrown);
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace gpuprof
