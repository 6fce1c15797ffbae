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
  // Begins the work on the second thread; without room for a thread it is done before this returns.
  // end() comes before anything else is begun.
  void begin(std::function<void()> work);
  // Returns when the work is over, and throws what it threw. Without work it does nothing.
  void end();
  // Calls both at the same time, `other` on the second thread, and returns when both are over. Then
  // throws what `own` threw, or else what `other` did.
  void call_both(const std::function<void()>& own, const std::function<void()>& other);

 private:
  void do_work();  // keeps what it throws for end()
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // empty: nothing is to be done
  std::exception_ptr thrown_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace gpuprof
