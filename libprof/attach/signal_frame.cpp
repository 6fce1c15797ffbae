#if defined(__x86_64__)
#include "libprof/attach/signal_frame.hpp"

#include <csignal>
#include <cstring>

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t red_zone = 128;  // below the stack pointer, in use
constexpr std::uint64_t syscall_bytes = 2;

// As in the kernel's asm/sigcontext.h and asm/ucontext.h.
struct Context {
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  std::uint64_t flags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap, old_mask, cr2;
  std::uint64_t floating;  // address
  std::uint64_t reserved[8];
};

struct RtFrame {
  std::uint64_t return_address;
  std::uint64_t flags, link;
  struct {
    std::uint64_t begin;
    std::uint32_t flags, padding;
    std::uint64_t size;
  } signal_stack;
  Context context;
  std::uint64_t blocked_signals;
  siginfo_t info;
};
static_assert(sizeof(Context) == 256 && sizeof(RtFrame) == 8 + 40 + 256 + 8 + 128);

constexpr std::uint64_t stack_segment_is_valid = 2 | 4;  // UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
// The kernel refuses to set such a signal stack, and keeps the thread's.
constexpr std::uint32_t no_signal_stack_flags = 0x7fff'fff0;

Context context_of(const user_regs_struct& from) {
  Context to{};
  to.r8 = from.r8, to.r9 = from.r9, to.r10 = from.r10, to.r11 = from.r11;
  to.r12 = from.r12, to.r13 = from.r13, to.r14 = from.r14, to.r15 = from.r15;
  to.rdi = from.rdi, to.rsi = from.rsi, to.rbp = from.rbp, to.rbx = from.rbx;
  to.rdx = from.rdx, to.rcx = from.rcx, to.rsp = from.rsp;
  to.flags = from.eflags;
  to.cs = static_cast<std::uint16_t>(from.cs);
  to.ss = static_cast<std::uint16_t>(from.ss);
  // At the instruction that made the system call: it is made again.
  to.rax = static_cast<std::uint64_t>(poll_number);
  to.rip = from.rip - syscall_bytes;
  return to;
}

}  // namespace

SignalFrame make_signal_frame(const ThreadState& thread, std::uint64_t signal_return,
                              std::string_view text) {
  SignalFrame made;
  made.text = (thread.registers.rsp - red_zone - text.size() - 1) & ~63ULL;
  // FXRSTOR wants 16 bytes' alignment.
  const std::uint64_t floating = made.text - sizeof(FloatingPoint);
  // As after a call: the return address is 8 below a multiple of 16.
  made.begin = ((floating - sizeof(RtFrame)) & ~15ULL) - 8;
  made.bytes.resize(made.text + text.size() + 1 - made.begin);

  RtFrame frame{};
  frame.return_address = signal_return;
  frame.flags = stack_segment_is_valid;
  frame.signal_stack.flags = no_signal_stack_flags;
  frame.context = context_of(thread.registers);
  frame.context.floating = floating;
  frame.blocked_signals = thread.blocked_signals;
  // Its end says whether more registers follow: none do, and the kernel resets them, as every
  // function may change them.
  FloatingPoint image = thread.floating;
  constexpr std::size_t kernels_own = 48;
  std::memset(reinterpret_cast<char*>(&image) + sizeof image - kernels_own, 0, kernels_own);
  std::memcpy(made.bytes.data(), &frame, sizeof frame);
  std::memcpy(made.bytes.data() + (floating - made.begin), &image, sizeof image);
  std::memcpy(made.bytes.data() + (made.text - made.begin), text.data(), text.size());
  return made;
}

}  // namespace gpuprof::attach

#endif
