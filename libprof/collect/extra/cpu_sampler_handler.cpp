// The part of CpuSampler that runs in the signal handler: no locks, no allocation, nothing that
// loads or binds (the collector is linked with -z now), and no large variables, for the thread may
// have little stack left.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>

#include "libprof/base/clock.hpp"
#include "libprof/base/word_hash.hpp"
#include "libprof/collect/extra/cpu_sampler.hpp"
#include "libprof/collect/extra/own_memory.hpp"
#include "libprof/collect/keep_errno.hpp"

namespace gpuprof::collect {
namespace {

void copy_registers(const ucontext_t& context, Registers& registers) {
#if defined(__x86_64__)
  // In the order of DWARF's numbers.
  constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                           REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                           REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (std::size_t i = 0; i < Registers::count; ++i) {
    registers.values[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[order[i]]);
  }
  registers.instruction = registers.values[Registers::count - 1];
#elif defined(__aarch64__)
  for (std::size_t i = 0; i < Registers::stack; ++i) {
    registers.values[i] = context.uc_mcontext.regs[i];
  }
  registers.values[Registers::stack] = context.uc_mcontext.sp;
  registers.instruction = context.uc_mcontext.pc;
#endif
}

}  // namespace

void CpuSampler::interrupted(int signal, siginfo_t* info, void* context) noexcept {
  const KeepErrno keep;
  CpuSampler* const self = instance_.load(std::memory_order_acquire);
  if (!self || !self->is_ours(*info)) return pass_on(signal, info, context);
  self->handlers_.fetch_add(1);
  if (self->active_.load()) self->take(*info, *static_cast<const ucontext_t*>(context));
  self->handlers_.fetch_sub(1);
}

void CpuSampler::pass_on(int signal, siginfo_t* info, void* context) noexcept {
  if (before_.sa_flags & SA_SIGINFO) return before_.sa_sigaction(signal, info, context);
  if (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN) before_.sa_handler(signal);
}

bool CpuSampler::is_ours(const siginfo_t& info) const {
  if (info.si_code != SI_TIMER) return false;
  const auto at = reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr);
  const auto first = reinterpret_cast<std::uint64_t>(targets_->data());
  return at >= first && at - first < sizeof(Targets) && (at - first) % sizeof(Target) == 0;
}

// Nobody's, from a place of the thread's own on.
CpuSampler::Copy* CpuSampler::claim(pid_t thread) {
  const std::size_t first = word_hash(0, static_cast<std::uint64_t>(thread)) % most_copies;
  for (std::size_t i = 0; i < most_copies; ++i) {
    Copy& copy = (*copies_)[(first + i) % most_copies];
    std::uint32_t state = copy.state.load(std::memory_order_relaxed);
    if (state == Copy::free &&
        copy.state.compare_exchange_strong(state, Copy::being_made, std::memory_order_acquire)) {
      return &copy;
    }
  }
  return nullptr;
}

void CpuSampler::take(const siginfo_t& info, const ucontext_t& context) noexcept {
  auto& target = *static_cast<Target*>(info.si_value.sival_ptr);
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  // A signal of another thread that had the timer's place before.
  if (target.id.load(std::memory_order_relaxed) != thread) return;
  // A thread that lets the signal through only while it waits for it.
  if (sigismember(&context.uc_sigmask, info.si_signo) == 1) target.waits_for_signal.store(true);
  target.taken.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t began = clock_ns(CLOCK_MONOTONIC);
  if (Copy* const copy = claim(thread)) {
    copy->thread = thread;
    copy->expired = 1 + static_cast<std::uint32_t>(std::max(info.si_overrun, 0));
    copy->time = static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME));
    copy_registers(context, copy->registers);
    copy->stack_bytes = read_own_pages(process_, copy->registers.values[Registers::stack],
                                       copy->stack.data(), copy->stack.size());
    const std::uint64_t state = target.python.load(std::memory_order_acquire);
    python_->copy_spots(state, thread, copy->python);
    copy->state.store(Copy::made, std::memory_order_release);
    constexpr std::uint32_t many = most_copies / 4;
    if (copies_made_.fetch_add(1) + 1 == many) {
      wakes_.fetch_add(1);
      syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  } else {
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
  host_.costs.add(wire::Count::cost_samples, clock_ns(CLOCK_MONOTONIC) - began);
}

}  // namespace gpuprof::collect
