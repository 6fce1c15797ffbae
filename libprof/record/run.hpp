// One run of the target: what its processes send goes from the listener's thread into a queue, and
// from there, on the loading thread, to the recorder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/launch/end_requests.hpp"
#include "libprof/launch/environment.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/launch/listener.hpp"
#include "libprof/launch/target.hpp"
#include "libprof/record/loading_thread.hpp"
#include "libprof/record/recorder.hpp"

namespace gpuprof::record {

// "3 processes reached gpuprof and ended before anything was recorded".
std::string cut_off(std::size_t processes);

// Belongs to the main thread.
class Run {
 public:
  // What all runs of one recording have in common.
  struct Common {
    launch::Target& target;
    launch::EndRequests& ends;
    Recorder& recorder;
    Say say;
    Conversion conversion;
    std::string folder;                // for what memory has no room for
    std::vector<std::string> command;  // program and arguments
    std::string collector;             // path
    launch::Runtimes runtimes;         // whose constructs are wanted
    bool store_command_lines = true;   // of its processes
    // Called once when processes that outlive the target are waited for, and it takes longer.
    std::function<void(const std::vector<std::int64_t>& processes)> waits = {};

    // Ctrl-C, which the target may have got as well.
    bool ended_by_user() const { return target.was_interrupted() || ends.asked() > 0; }
  };

  // From here on frames are taken. Throws gpuprof::Error.
  Run(Common& common, launch::Listener::Options listening);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // A frame of the run itself. Not after end().
  void push(wire::Frame frame) { queue_.push(std::move(frame)); }
  // To the collector of a stream. Any thread.
  void tell(std::uint32_t stream, const wire::Fields& fields) { listener_.tell(stream, fields); }

  // Starts to record, if start() is not what comes next.
  void begin();
  // Starts to record, and then the target. What conversion and listener need must be there. Throws
  // gpuprof::Error when there is no such program.
  void start(launch::Target::Output output);
  // Waits for the target's first process that uses CUDA. False: the target has ended.
  bool wait_for_a_process();
  // A process was there, and all have gone.
  bool is_over() const { return listener_.seen() > 0 && listener_.active() == 0; }
  // When the target has ended: waits for processes of the run that outlive it, for they belong to
  // it. Ctrl-C ends that.
  void wait_for_the_others();
  // Takes nothing more from any process. Samplers are told to end, and have some time for it.
  void stop_listening();
  // Waits until all is recorded. `progress` is told how far that is, if there is much left; may be
  // empty. False: recording ended early, which was told.
  bool end(const std::function<void(int percent)>& progress = {});

  // Where processes connect to.
  const std::string& socket_path() const { return listener_.socket_path(); }
  // After stop_listening(): processes that used CUDA, and those that ended before they could say
  // who they are.
  std::size_t processes_seen() const { return listener_.seen(); }
  std::size_t processes_cut_off() const { return listener_.silent(); }
  // After end(): counts in the recorder what is missing and what was special.
  void count_losses();

 private:
  Common& common_;
  launch::FrameQueue queue_;
  launch::Listener listener_;
  std::optional<LoadingThread> loading_;  // null: not started
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace gpuprof::record
