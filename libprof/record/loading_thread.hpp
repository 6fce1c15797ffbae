// The thread between the queue and the recorder.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/frame_queue.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::record {

// Shows the user a message. Called on any thread.
using Say = std::function<void(const std::string& text)>;

// Converts frames before they are recorded. Called on the loading thread; both may be empty.
struct Conversion {
  // Throws wire::StreamError if the frame makes no sense.
  std::function<std::vector<wire::Frame>(wire::Frame frame)> convert = {};
  // The recorder's number for this stream, or nullopt.
  std::function<std::optional<std::uint32_t>(std::uint32_t stream)> recorded_stream = {};
};

// For store::LoaderOptions::when_locked. Another process, such as a backup, may hold a database's
// lock: the loading thread waits for it indefinitely, and everything recorded meanwhile waits in
// the queue.
std::function<bool(int times)> wait_for_the_lock(Say say, const launch::EndRequests& ends);

// Records what comes out of the queue. The recorder belongs to this thread until finish(). If a
// database fails, the rest of the run is drained and discarded: the target must not notice.
class LoadingThread {
 public:
  LoadingThread(Recorder& recorder, launch::FrameQueue& queue, const launch::EndRequests& ends,
                Conversion conversion, Say say);
  // finish() must have been called.
  ~LoadingThread() = default;
  LoadingThread(const LoadingThread&) = delete;
  LoadingThread& operator=(const LoadingThread&) = delete;

  // Returns when the queue is exhausted. False: recording ended early, which was reported.
  bool finish();

  // What can be read from the files by now.
  struct Committed {
    std::vector<std::string> files;  // absolute paths
    store::LoadTotals totals;
    std::uint64_t bytes = 0;  // of frames
    bool failed = false;      // nothing more will come
  };
  // Any thread.
  Committed committed();
  // Waits until everything that was in the queue at the call can be read. false: not yet.
  bool wait_until_committed(std::chrono::milliseconds patience);

 private:
  void run();
  void load_for(std::chrono::milliseconds time);
  void take(wire::Frame frame);
  void fail(const std::exception& error);
  void note_commit(std::uint64_t bytes);

  Recorder& recorder_;
  launch::FrameQueue& queue_;
  const launch::EndRequests& ends_;
  const Conversion conversion_;
  const Say say_;
  bool failed_ = false;  // used only by the thread until finish()
  std::mutex mutex_;     // guards committed_
  std::condition_variable committing_;
  Committed committed_;
  std::thread thread_;
};

}  // namespace gpuprof::record
