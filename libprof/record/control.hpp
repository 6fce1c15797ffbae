// What a run is asked for while it goes on: by other gpuprof processes (launch/control_socket.hpp),
// and by the clock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libprof/record/job_group.hpp"
#include "libprof/record/launch/control_socket.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/loading_thread.hpp"
#include "libprof/record/peers.hpp"
#include "libprof/record/run_watch.hpp"
#include "libprof/record/snapshots.hpp"
#include "libprof/record/trigger.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::record {

struct ControlOptions {
  // From the beginning of the run: nothing is recorded before `delay`, and nothing from `duration`
  // after that on.
  std::optional<std::chrono::milliseconds> delay, duration;
  // Instead of `delay`: recording begins at multiples of this on the wall clock, as that of other
  // hosts does. With `duration` each of them begins it again, without it only the first.
  std::optional<std::chrono::milliseconds> every = {};
  std::uint64_t most_bytes = 0;  // of the files: nothing more is recorded then; 0: no limit
  std::string recorded;          // groups of --trace, for `status`
  // Why tracing cannot be switched; empty: it can.
  std::string why_not_switched;
  // Only the latest records stay: SIGUSR2, processes that die, and these incidents make snapshots.
  bool keeps_last = false;
  std::vector<Trigger> triggers = {};
  int most_snapshots = 0;
  std::optional<std::chrono::milliseconds> kept = {};  // how much stays; absent: not known
  // With `keeps_last`: whose incidents have snapshots of all; absent: this run's alone.
  std::optional<JobGroup> group = {};
  std::function<bool()> hurried = {};  // nothing may take long any more
  Say note = {};                       // what happens; may be empty
};

// Has a thread of its own, "control", which alone switches tracing. It asks the collectors, waits
// for their answers, and answers its callers one after the other.
class Control {
 public:
  // The other parts must outlive it. If no socket is possible, `say` reports that, and the rest
  // works.
  Control(ControlOptions options, launch::Listener& listener, LoadingThread& loading,
          const Say& say);
  ~Control();
  // The run is over: waits for copies. Returns the incidents that no copy is of.
  std::vector<std::string> end();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool turn(int patience_ms, bool goes_on);
  // The next multiple of `every`.
  void wait_for_the_wall_clock();
  void look_at_the_clock();
  void look_at_the_size();
  void look_at_the_signal();
  void take_incidents();
  void look_for_snapshots();
  void write_snapshots(const std::string& why, const Snapshots::Moment& moment);
  int patience_ms() const;
  wire::Fields answer(const wire::Fields& request, pid_t caller);
  wire::Fields answer_peer(const wire::Fields& request, pid_t caller);
  bool is_meant(const wire::Fields& request);
  wire::Fields status();
  // Makes everything recorded so far readable. Adds what was not possible to `answer`.
  void flush(wire::Fields& answer, launch::Collectors::Asked asked);
  launch::Collectors::Asked trace(bool on);
  void note(const std::string& text) const;
  // Of the files with their logs.
  std::uint64_t bytes();

  const ControlOptions options_;
  launch::Listener& listener_;
  LoadingThread& loading_;
  std::optional<launch::ControlSocket> socket_;
  // The thread's.
  bool traces_ = true;
  Clock::time_point since_;  // it has been so
  std::optional<Clock::time_point> begins_, ends_;
  std::optional<std::chrono::system_clock::time_point> at_;  // when it begins, by `every`
  RunWatch watch_;
  Snapshots snapshots_;
  Peers peers_;
  std::optional<Peers::Request> peers_request_;  // that was accepted: it is written next
  bool goes_on_ = true;                          // the run does
  int signal_ = -1;                              // a signalfd; -1: it is not taken
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace gpuprof::record
