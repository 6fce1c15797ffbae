// One run of the target: what its processes send goes from the listener's thread into a queue, and
// from there, on the loading thread, to the recorder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/record/control.hpp"
#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/environment.hpp"
#include "libprof/record/launch/frame_queue.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/record/loading_thread.hpp"
#include "libprof/record/recorder.hpp"

namespace gpuprof::record {

// "3 processes reached gpuprof and ended before anything was recorded".
std::string cut_off(std::size_t processes);

// Belongs to the main thread.
class Run {
 public:
  // What all runs of one recording share.
  struct Common {
    launch::Target& target;
    launch::EndRequests& ends;
    Recorder& recorder;
    Say say;
    Conversion conversion;
    std::string folder;                // for what does not fit into memory
    std::vector<std::string> command;  // program and arguments
    std::string collector;             // path
    launch::Runtimes runtimes;         // those whose constructs are wanted
    bool store_command_lines = true;   // of the target's processes
    // The first run can be asked and controlled while it goes on; nullopt: none can.
    std::optional<ControlOptions> control = {};
    // Called once if waiting for processes that outlive the target takes longer.
    std::function<void(const std::vector<std::int64_t>& processes)> waits = {};

    // Ctrl-C, which the target may have received as well.
    bool ended_by_user() const { return target.was_interrupted() || ends.asked() > 0; }
  };

  // Frames are accepted from here on. Throws gpuprof::Error.
  Run(Common& common, launch::Listener::Options listening);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Adds a frame of the run itself. Not after end().
  void push(wire::Frame frame) { queue_.push(std::move(frame)); }
  // Sends to the collector of a stream. Any thread.
  void tell(std::uint32_t stream, const wire::Fields& fields) { listener_.tell(stream, fields); }

  // Starts recording without starting the target; start() does both.
  void begin();
  // Starts recording, then the target. Everything that conversion and listener need must exist.
  // Throws gpuprof::Error if there is no such program.
  void start(launch::Target::Output output);
  // Waits for the target's first process that uses CUDA. False: the target has ended.
  bool wait_for_a_process();
  std::size_t processes_connected() const { return listener_.seen(); }
  std::vector<std::int64_t> active_processes() { return listener_.active_processes(); }
  // A process has connected, and all have gone.
  bool is_over() const { return listener_.seen() > 0 && listener_.active() == 0; }
  // Call after the target has ended: waits for the run's processes that outlive it, since they
  // belong to the run. Ctrl-C ends the wait.
  void wait_for_the_others();
  // Accepts nothing more from any process. Samplers are asked to end and get some time to do so.
  void stop_listening();
  // Waits until everything is recorded. `progress` receives the percentage if much remains; may be
  // empty. False: recording ended early, which was reported.
  bool end(const std::function<void(int percent)>& progress = {});

  // The socket that processes connect to.
  const std::string& socket_path() const { return listener_.socket_path(); }
  // After stop_listening(): the number of processes that used CUDA, and of those that ended before
  // they could identify themselves.
  std::size_t processes_seen() const { return listener_.seen(); }
  std::size_t processes_cut_off() const { return listener_.silent(); }
  // After end(): records counts of what is missing or unusual, and what this process has used.
  void count_losses();

 private:
  void end_control();

  Common& common_;
  launch::FrameQueue queue_;
  launch::Listener listener_;
  std::optional<LoadingThread> loading_;  // nullopt: not started
  std::optional<Control> control_;
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace gpuprof::record
