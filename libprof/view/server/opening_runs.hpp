// Files that are being read while their page is served already.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libprof/view/server/open_run.hpp"
#include "libprof/view/server/server.hpp"

namespace gpuprof::view {

// One file, or two that are compared. The page is answered at once, questions about the runs when
// they have been read. What the first picture of a large file needs is answered before, from its
// GPU work.
class OpeningRuns {
 public:
  // Begins to read on a separate thread, which also calls `options.show` until wait() ends.
  OpeningRuns(std::vector<std::string> paths, OpenRun::Options options);
  // Ends reading.
  ~OpeningRuns();
  OpeningRuns(const OpeningRuns&) = delete;
  OpeningRuns& operator=(const OpeningRuns&) = delete;

  // Until all is read, but not longer than this. Throws what reading threw.
  void wait(std::chrono::milliseconds most);
  // Whether reading ended with an error, which wait() throws.
  bool failed();
  // What readers of the files should know, since the last call. They come when all is read.
  std::vector<std::string> take_notes();

  // Called by one thread.
  Response operator()(const Request& request);

 private:
  using Clock = std::chrono::steady_clock;

  void read();
  void read_all();
  Response answer(const Request& request);
  // The response, once all is read, or the GPU work for a question about a picture.
  Response wait_and_answer(const Request& request, const std::function<bool()>& is_over);
  void show_work(std::unique_ptr<const Run> work);
  Response answer_from_work(const Answers& answers, const Request& request);
  // Those from the GPU work, where they are to answer this. Null: all has to be read, or has been.
  const Answers* work_answers(const Request& request) const;

  const std::vector<std::string> paths_;
  OpenRun::Options options_;
  std::deque<OpenRun> runs_;  // written by the thread until `answers_` is set
  std::atomic<bool> stops_{false};

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string what_;  // is being read
  bool quiet_ = false;
  std::vector<std::string> notes_;
  std::exception_ptr error_;
  bool is_read_ = false;
  std::unique_ptr<const Run> work_;  // set once, as the answers from it, which need no lock
  std::unique_ptr<const Answers> work_answers_;
  Clock::time_point resume_;  // reading waits until then

  // One at a time, because rows of a stored timeline are read by one thread at a time. Set once,
  // when all is read.
  std::mutex answering_;
  std::unique_ptr<const Answers> answers_;
  std::thread thread_;
};

}  // namespace gpuprof::view
