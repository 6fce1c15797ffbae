// Slow responses, computed on other threads.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/view/model/answers.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

// Threads for slow responses, one for each that is being computed. They are used again, because
// starting one takes as long as a short response. One thread calls; its Work objects end first.
class Workers {
 public:
  using Task = std::packaged_task<Response()>;

  // `woken`: an eventfd written to when a response is ready.
  explicit Workers(int woken) : woken_(woken) {}
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Throws std::system_error if no thread is idle and none can be started.
  void start(Task task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size()) {
      threads_.emplace_back([this] { run(); });
      ++idle_;
    }
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      --idle_;
      lock.unlock();
      task();
      eventfd_write(woken_, 1);
      lock.lock();
      ++idle_;
    }
  }

  const int woken_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::size_t idle_ = 0;  // threads without a task, those that have not begun to wait included
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

// A response that is being computed. Not thread-safe.
class Work {
 public:
  // `keep`: keep the connection open after the response.
  Work(Workers& workers, Response::Later make, bool keep) : keep_(keep) {
    Workers::Task task([this, make = std::move(make)] { return run(make); });
    response_ = task.get_future();
    workers.start(std::move(task));
  }
  ~Work() {
    end();
    if (response_.valid()) response_.wait();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void end() { is_over_.store(true); }  // ends soon, asynchronously
  bool done() const {
    return response_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  bool keep() const { return keep_; }
  Response response() { return response_.get(); }  // once, when done()

 private:
  Response run(const Response::Later& make) const {
    try {
      return make([this] { return is_over_.load(); });
    } catch (const std::exception& error) {
      return {.status = 500, .body = error_answer(error.what())};
    }
  }

  const bool keep_;
  std::atomic<bool> is_over_{false};
  std::future<Response> response_;
};

}  // namespace gpuprof::view
