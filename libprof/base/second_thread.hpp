// A thread that takes over a part of what its owner does.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace gpuprof {

// Used by one thread. The second one exists from the first call on.
class SecondThread {
 public:
  SecondThread() = default;
  ~SecondThread();
  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

  bool exists() const { return thread_.joinable(); }
  // Calls both at the same time, `other` on the second thread, and returns when both are over. Then
  // throws what `own` threw, or else what `other` did. Without room for a thread `other` comes
  // second.
  void call_both(const std::function<void()>& own, const std::function<void()>& other);

 private:
  bool start(const std::function<void()>& other);
  std::exception_ptr wait();
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;  // null: nothing is to be done
  std::exception_ptr thrown_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace gpuprof
