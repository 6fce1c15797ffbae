// What the kernel says of a thread: whether it runs, or in which system call it waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "libprof/host/remote_python.hpp"
#include "schema/host_samples.hpp"

namespace gpuprof::host {

using State = schema::HostSample::State;

// /proc/…/schedstat: ns on a processor, ns in which it could have run, and how often it ran.
struct RunTimes {
  std::uint64_t run = 0, wait = 0, times = 0;
  bool operator==(const RunTimes&) const = default;
};
// nullopt: it is not as the kernel writes it.
std::optional<RunTimes> parse_schedstat(std::string_view text);

// /proc/…/syscall.
struct SystemCall {
  bool running = false;  // the thread is in none and can run
  std::int64_t number = -1;
  std::uint64_t first_argument = 0;
};
std::optional<SystemCall> parse_syscall(std::string_view text);

// What a thread does. `before` and `now`: its times when it was last looked at, and now.
State state_of(const SystemCall& call, const RunTimes& before, const RunTimes& now,
               std::span<const RemotePython::Lock> locks);

// One thread of a process. Used by one thread.
class ThreadState {
 public:
  ThreadState(pid_t process, pid_t thread) : process_(process), thread_(thread) {}

  // false: there is no such thread any more, or it must not be looked at.
  bool look(std::span<const RemotePython::Lock> locks);
  State state() const { return state_; }
  // It has run since the look before: its stack may be another.
  bool has_run() const { return has_run_; }

 private:
  pid_t process_, thread_;
  RunTimes times_;
  State state_ = State::runs;
  bool has_run_ = true;
};

}  // namespace gpuprof::host
