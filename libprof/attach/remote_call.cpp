#include "libprof/attach/remote_call.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/attach/signal_frame.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::attach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds stop_patience{5};
constexpr std::uint64_t stack_bytes = 64 << 10;  // for dlopen and what it runs
constexpr long interrupted = -516;               // the kernel's ERESTART_RESTARTBLOCK
constexpr std::array syscall_instruction{std::byte{0x0f}, std::byte{0x05}};

// A thread that is traced and stopped, until it is released. It goes on when this process ends,
// whatever happens.
class Stopped {
 public:
  Stopped(const Process& process, pid_t thread) : process_(process), thread_(thread) {}
  ~Stopped() { release(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  // false: it has ended, or something else stopped it. Throws
  // gpuprof::Error if it may not be traced.
  bool stop();
  void release();
  std::chrono::nanoseconds time() const { return Clock::now() - began_; }

  // The size that the kernel gives is that of the registers; any other is another architecture's.
  template <class Registers>
  bool get(Registers& registers, int set) const {
    iovec place{&registers, sizeof registers};
    return ptrace(PTRACE_GETREGSET, thread_, set, &place) == 0 && place.iov_len == sizeof registers;
  }
  bool set(user_regs_struct& registers) const {
    iovec place{&registers, sizeof registers};
    return ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &place) == 0;
  }
  bool get_blocked_signals(std::uint64_t& blocked) const {
    return ptrace(PTRACE_GETSIGMASK, thread_, sizeof blocked, &blocked) == 0;
  }

 private:
  const Process& process_;
  const pid_t thread_;
  bool traced_ = false;
  int signal_ = 0;  // that was to be delivered when it stopped
  Clock::time_point began_;
};

bool Stopped::stop() {
  if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
    if (errno == ESRCH) return false;
    throw Error("gpuprof may not attach to process " + std::to_string(process_.id()) + ": " +
                    std::strerror(errno),
                ptrace_hint(), ExitCode::application_not_found);
  }
  traced_ = true;
  began_ = Clock::now();
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) return false;
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(thread_, &status, __WALL | WNOHANG)) == 0) {
    if (Clock::now() - began_ > stop_patience) {
      throw Error("a thread of process " + std::to_string(process_.id()) + " does not stop", "",
                  ExitCode::application_not_found);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (got != thread_ || !WIFSTOPPED(status)) {
    traced_ = false;
    return false;
  }
  const bool by_us = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
  if (status >> 16 == 0) signal_ = WSTOPSIG(status);
  // The number may be another process's by now, which then is released unchanged.
  return by_us && process_.alive();
}

void Stopped::release() {
  if (!std::exchange(traced_, false)) return;
  ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
}

// Whether it waits in poll without end. A poll that was interrupted before has become
// restart_syscall, with its arguments. Between the interruption and the new beginning, the
// registers look much the same, but are at the instruction that begins it, not after it.
bool waits_in_poll(const Process& process, const user_regs_struct& registers) {
  constexpr std::uint64_t most_files = 4096;
  const auto number = static_cast<long>(registers.orig_rax);
  std::array<std::byte, syscall_instruction.size()> code{};
  return registers.cs == code_segment && (number == poll_number || number == restart_number) &&
         static_cast<long>(registers.rax) == interrupted && static_cast<int>(registers.rdx) == -1 &&
         registers.rsi <= most_files && process.memory()(registers.rip - code.size(), code) &&
         code == syscall_instruction;
}

Waits with_waiting(const Process& process, pid_t thread,
                   const std::function<bool(Stopped&, user_regs_struct&)>& then) {
  Stopped stopped(process, thread);
  user_regs_struct registers{};
  const bool waits =
      stopped.stop() && stopped.get(registers, NT_PRSTATUS) && waits_in_poll(process, registers);
  return waits && then(stopped, registers) ? Waits::yes : Waits::no;
}

}  // namespace

Waits look(const Process& process, pid_t thread) {
  return with_waiting(process, thread, [](Stopped&, user_regs_struct&) { return true; });
}

Waits call(const Process& process, pid_t thread, const RemoteCall& call,
           std::chrono::nanoseconds& stopped_for) {
  const std::vector<Mapping> maps = process.maps();
  return with_waiting(process, thread, [&](Stopped& stopped, user_regs_struct& registers) {
    FloatingPoint floating{};
    std::uint64_t blocked = 0;
    const Mapping* const stack = mapping_of(maps, registers.rsp);
    if (!stack || !stopped.get(floating, NT_PRFPREG) || !stopped.get_blocked_signals(blocked)) {
      return false;
    }
    const SignalFrame frame =
        make_signal_frame({registers, floating, blocked}, call.signal_return, call.text);
    if (frame.begin < stack->begin + stack_bytes) return false;
    const iovec here{const_cast<std::byte*>(frame.bytes.data()), frame.bytes.size()};
    const iovec there{reinterpret_cast<void*>(frame.begin), frame.bytes.size()};
    if (process_vm_writev(process.id(), &here, 1, &there, 1, 0) !=
        static_cast<ssize_t>(frame.bytes.size())) {
      return false;
    }
    user_regs_struct calling = registers;
    calling.rip = call.function;
    calling.rsp = frame.begin;
    calling.rdi = frame.text;
    calling.rsi = call.second;
    calling.rax = 0;
    calling.orig_rax = ~0ULL;  // it is in no system call that would begin again
    calling.eflags &= ~(trap_flag | direction_flag);
    if (!stopped.set(calling)) return false;
    stopped.release();
    stopped_for = std::max(stopped_for, std::chrono::nanoseconds(stopped.time()));
    return true;
  });
}

}  // namespace gpuprof::attach

#else  // Process::check() refuses every process.

namespace gpuprof::attach {

Waits look(const Process&, pid_t) { return Waits::no; }
Waits call(const Process&, pid_t, const RemoteCall&, std::chrono::nanoseconds&) {
  return Waits::no;
}

}  // namespace gpuprof::attach

#endif
