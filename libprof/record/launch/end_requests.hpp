// Handles Ctrl-C while no target runs that it could be meant for: gpuprof ends.
#pragma once

#include <atomic>
#include <thread>

namespace gpuprof::launch {

// Handles the termination signals (SIGINT, SIGTERM, SIGHUP, SIGQUIT) on a dedicated thread while
// the main thread is busy. They must be blocked in all threads (see Target).
//
// The last expected request ends this process within a second, whatever it is doing: optional work
// is abandoned at once, remaining writes are abandoned half a second later, and then the thread
// ends the process itself. Databases stay valid: uncommitted data is simply missing.
class EndRequests {
 public:
  // `quiet`: print nothing on standard error.
  explicit EndRequests(bool quiet);
  ~EndRequests();
  EndRequests(const EndRequests&) = delete;
  EndRequests& operator=(const EndRequests&) = delete;

  // Handles signals until leave(); the `ends`-th from now on ends the process. Main thread.
  void listen(int ends);
  void leave();

  // Any thread, at any time.
  int asked() const { return asked_.load(); }
  bool hurried() const { return hurried_.load(); }  // the last request has come
  bool overdue() const { return overdue_.load(); }  // it came half a second ago
  // 128 + the signal of the last request.
  int exit_code() const { return 128 + signal_.load(); }

 private:
  void run();
  [[noreturn]] void end();

  const bool quiet_;
  int signals_ = -1;
  int stop_ = -1;
  std::atomic<int> asked_{0};
  std::atomic<int> ends_{0};
  std::atomic<int> signal_{0};
  std::atomic<bool> hurried_{false};
  std::atomic<bool> overdue_{false};
  std::thread thread_;
};

}  // namespace gpuprof::launch
