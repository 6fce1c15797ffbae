// What the kernel puts onto a thread's stack when it delivers a signal on x86-64, and takes from
// there when the handler returns. Elsewhere there is nothing here.
#pragma once

#if defined(__x86_64__)
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuprof::attach {

inline constexpr std::uint64_t code_segment = 0x33;  // of 64-bit programs
inline constexpr long poll_number = 7;
inline constexpr long restart_number = 219;  // restart_syscall
inline constexpr std::uint64_t trap_flag = 0x100, direction_flag = 0x400;

// The image of FXSAVE.
using FloatingPoint = user_fpregs_struct;

// A thread that waits in poll.
struct ThreadState {
  user_regs_struct registers;
  FloatingPoint floating;
  std::uint64_t blocked_signals;
};

struct SignalFrame {
  std::uint64_t begin;  // the stack pointer with which a function is called that returns to it
  std::uint64_t text;
  std::vector<std::byte> bytes;  // from `begin` on
};

// A frame below the thread's stack, and above it the text with a terminating zero. A function that
// is called with it returns to `signal_return`, and the thread begins its poll again.
SignalFrame make_signal_frame(const ThreadState& thread, std::uint64_t signal_return,
                              std::string_view text);

}  // namespace gpuprof::attach
#endif
