// A call of a function in another process, on one of its threads that waits in poll without end, as
// CUDA's event thread does.
//
// The thread is stopped while some 1.5 KB are written below its stack and its registers are set;
// from then on it is on its own: it runs the function, which returns to the code with which signal
// handlers end, and that takes the thread's former registers from its stack. It waits in poll again
// as if nothing had happened, also if gpuprof has been killed in between.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "libprof/attach/process.hpp"

namespace gpuprof::attach {

struct RemoteCall {
  std::uint64_t function = 0;
  std::string text;          // the first argument: its address in the process
  std::uint64_t second = 0;  // the second
  // Code of the process that calls rt_sigreturn.
  std::uint64_t signal_return = 0;
};

enum class Waits {
  yes,  // the call was made, or could have been
  no,   // the thread is busy, or gone
};

// Whether the thread waits in poll; stops it for a moment. Throws gpuprof::Error if it may not be
// traced. Always on the same thread of ours.
Waits look(const Process& process, pid_t thread);

// Makes the thread call, if it waits. Does not wait for the function to return: look() says `yes`
// when it has. Adds the time that the thread was stopped to `stopped`.
Waits call(const Process& process, pid_t thread, const RemoteCall& call,
           std::chrono::nanoseconds& stopped);

}  // namespace gpuprof::attach
