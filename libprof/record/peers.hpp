// The other launchers of a job on this host: an incident of one has snapshots of all, of the same
// time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>

#include "libprof/record/job_group.hpp"
#include "libprof/record/launch/control_socket.hpp"
#include "libprof/record/snapshots.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::record {

// Asks through the control sockets, and understands such requests. A request goes to every
// recording of the user's, because only its gpuprof knows its job; others answer that it is not
// theirs. Nothing here waits, and what a peer says is data: it decides neither a path nor more than
// whether one snapshot is written, within the limits of the launcher that is asked. Belongs to one
// thread.
class Peers {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::string_view request_name = "snapshot-of-job";

  // `folder`: of this launcher's own socket. `note` tells the user which launcher has no snapshot.
  Peers(std::optional<JobGroup> group, std::string folder,
        std::function<void(const std::string&)> note)
      : group_(std::move(group)), folder_(std::move(folder)), note_(std::move(note)) {}

  const std::optional<JobGroup>& group() const { return group_; }
  // For a snapshot of this launcher's own.
  void ask(const std::string& why, const Snapshots::Moment& moment);
  // Call it now and then while waits().
  void look_after();
  bool waits() const { return !asked_.empty(); }

  struct Request {
    std::string why;  // who asked is in it
    Snapshots::Moment moment;
  };
  // What another launcher asks for; nullopt: it is not of this job, or makes no sense.
  std::optional<Request> parsed(const wire::Fields& request, pid_t caller) const;
  // Answers to that. `refusal`: why there is no snapshot; empty: there is one.
  wire::Fields answer(std::string_view refusal) const;

 private:
  struct Asked {
    launch::AskedRecording recording;
    Clock::time_point until;
  };

  void take_answer(const launch::AskedRecording& recording);
  void note_silent(pid_t process);

  const std::optional<JobGroup> group_;
  const std::string folder_;
  const std::function<void(const std::string&)> note_;
  std::list<Asked> asked_;
  std::set<pid_t> silent_;  // of which that was said
};

}  // namespace gpuprof::record
