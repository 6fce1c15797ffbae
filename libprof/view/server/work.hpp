// A slow response, computed on its own thread.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "libprof/view/model/answers.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

// Not thread-safe.
class Work {
 public:
  // `keep`: keep the connection open after the response. `woken`: an eventfd written to when the
  // response is ready.
  Work(Response::Later make, bool keep, int woken)
      : keep_(keep), woken_(woken), thread_([this, make = std::move(make)] { run(make); }) {}
  ~Work() {
    end();
    thread_.join();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void end() { is_over_.store(true); }  // ends soon, asynchronously
  bool done() const { return done_.load(std::memory_order_acquire); }
  bool keep() const { return keep_; }
  const Response& response() const { return response_; }  // valid once done()

 private:
  void run(const Response::Later& make) {
    try {
      response_ = make([this] { return is_over_.load(); });
    } catch (const std::exception& error) {
      response_ = {.status = 500, .body = error_answer(error.what())};
    }
    done_.store(true, std::memory_order_release);
    eventfd_write(woken_, 1);
  }

  const bool keep_;
  const int woken_;
  std::atomic<bool> is_over_{false}, done_{false};
  Response response_;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace gpuprof::view
