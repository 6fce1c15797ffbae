// --native-stacks: the return addresses on the calling thread's stack.
//
// Unwinding takes 2 to 20 us, so it is done only where an address is met for the first time: how
// far the place of a return address on the stack is from that of the next one follows from the
// address, as long as functions do not make room of varying size. These distances are remembered,
// and a stack whose addresses are all known is walked by them, a few ns for each. Elsewhere than on
// x86-64, where a return address is not found that way, each stack is unwound.
//
// On the target's threads: no waiting and no allocation, but unwinding asks the dynamic loader for
// its modules.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libprof/collect/extra/python_frames.hpp"

namespace gpuprof::collect {

// Innermost first. Addresses are those after the calls.
struct NativeStack {
  static constexpr std::size_t most_frames = 64;

  std::size_t count = 0;
  std::array<std::uint64_t, most_frames> addresses;  // as many as that
};

class NativeFrames {
 public:
  using Code = PythonInterpreter::Code;

  // The frames that are left when this one, __builtin_frame_address(0) of the caller, returns, up
  // to the first in `until`. `stack_end` is the thread's own: 0 at first.
  void walk(const void* frame_address, const Code& until, std::uint64_t& stack_end,
            NativeStack& stack);

  // Starts anew; nobody may walk meanwhile.
  void clear();

  // How many stacks were unwound.
  std::uint64_t unwound() const { return unwound_.load(std::memory_order_relaxed); }

 private:
  // By a hash of the address. Distances are in bytes; functions that align their frames have
  // several.
  struct Step {
    std::atomic<std::uint64_t> address{0};
    std::array<std::atomic<std::uint32_t>, 3> distances{};
  };
  static constexpr std::size_t most_steps = 1 << 14;
  static constexpr std::uint32_t is_last = 0xffffffff;

  Step* find(std::uint64_t address, bool add);
  std::uint32_t distance_at(const Step& step, std::uint64_t place, std::uint64_t end);
  bool walk_known(std::uint64_t place, const Code& until, std::uint64_t end, NativeStack& stack);
  void unwind(std::uint64_t frame, const Code& until, std::uint64_t& end, NativeStack& stack);
  void learn(std::uint64_t address, std::uint32_t distance);

  std::array<Step, most_steps> steps_;
  std::atomic<std::uint64_t> unwound_{0};
};

// The module that code is in, as the dynamic loader knows it. Empty if there is none.
struct NativePlace {
  std::array<char, 256> module{};  // its path; if too long, its end
  std::uint64_t offset = 0;        // as in the module's symbols; without a module the address
};
NativePlace place_of(std::uint64_t address);

// Code of the profiler, or of CUPTI, between the program's call and the callback.
bool is_of_profiler(std::string_view module);

}  // namespace gpuprof::collect
