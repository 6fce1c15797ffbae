#include "libprof/host/thread_state.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace gpuprof::host {
namespace {

// Takes a number, decimal or after 0x, and the blank after it.
template <class T>
bool take_number(std::string_view& text, T& number) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

// The beginning of a file of a thread; empty: it cannot be read.
std::string_view read_file(pid_t process, pid_t thread, const char* name, std::span<char> room) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/%s", process, thread, name);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = read(file, room.data(), room.size());
  close(file);
  return {room.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

bool is_sleep(std::int64_t call) { return call == SYS_nanosleep || call == SYS_clock_nanosleep; }

}  // namespace

std::optional<RunTimes> parse_schedstat(std::string_view text) {
  RunTimes times;
  if (!take_number(text, times.run) || !take_number(text, times.wait) ||
      !take_number(text, times.times)) {
    return std::nullopt;
  }
  return times;
}

std::optional<SystemCall> parse_syscall(std::string_view text) {
  if (text.starts_with("running")) return SystemCall{.running = true};
  SystemCall call;
  if (!take_number(text, call.number)) return std::nullopt;
  // Outside of a system call the words are others: it waits for memory, say.
  if (call.number >= 0 && !take_number(text, call.first_argument)) return std::nullopt;
  return call;
}

State state_of(const SystemCall& call, const RunTimes& before, const RunTimes& now,
               std::span<const RemotePython::Lock> locks) {
  if (call.running) {
    // The time in which it could have run is counted when it gets to run.
    const bool starves =
        before.times != 0 && (now == before || now.wait - before.wait > now.run - before.run);
    return starves ? State::has_no_processor : State::runs;
  }
  if (is_sleep(call.number)) return State::sleeps;
  const bool for_lock =
      call.number == SYS_futex && std::ranges::any_of(locks, [&](const RemotePython::Lock& lock) {
        return lock.has(call.first_argument);
      });
  return for_lock ? State::waits_for_lock : State::waits;
}

bool ThreadState::look(std::span<const RemotePython::Lock> locks) {
  std::array<char, 256> room;
  const auto times = parse_schedstat(read_file(process_, thread_, "schedstat", room));
  if (!times) return false;
  const RunTimes before = std::exchange(times_, *times);
  const bool was_waiting = state_ != State::runs && state_ != State::has_no_processor;
  has_run_ = !was_waiting || times_ != before || times_.times == 0;
  if (!has_run_) return true;
  const auto call = parse_syscall(read_file(process_, thread_, "syscall", room));
  if (!call) return false;
  state_ = state_of(*call, before, times_, locks);
  return true;
}

}  // namespace gpuprof::host
