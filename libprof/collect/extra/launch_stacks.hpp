// The functions of Python that CUDA calls came from, and the calls that made the nodes of CUDA
// graphs; --stacks=launches: in all threads. --native-stacks: native functions too, the innermost.
//
// The calling thread computes a number from the addresses of its functions and the places in them,
// which takes a few ns for each (python_frames.hpp). Only a stack that no thread had before is read
// and described; a call has an entry with the number of its stack. Both are written to the thread's
// slot (thread_slots.hpp), so they outlive the target. No locks, no waiting, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/extra/hash_numbers.hpp"
#include "libprof/collect/extra/native_frames.hpp"
#include "libprof/collect/extra/python_frames.hpp"
#include "libprof/collect/thread_slots.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class LaunchStacks {
 public:
  explicit LaunchStacks(ThreadSlots& slots) : slots_(slots) {}

  static std::vector<wire::WireTable> tables();

  // Starts a new trace; nobody may call note() meanwhile. Returns a message for the user, or empty.
  std::string begin(wire::LaunchStacks threads, bool native);
  // After begin(): whether there is an interpreter whose functions can be read.
  bool reads_python() const { return python_.found(); }

  // On the calling thread, which is `thread`, as the call begins. Of calls within one another that
  // have the same correlation id, the outermost counts. `frame`: __builtin_frame_address(0) of the
  // caller.
  void note(ThreadSlots::Thread& thread, std::uint32_t correlation_id, const void* frame);

  // A node of a CUDA graph was made, by the last call that the thread has begun. `node`, `own`: its
  // numbers, see NodeNumbers; 0: none. `source`: our number of the node that it is a clone of; 0:
  // of none. On the calling thread.
  void note_node(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t own,
                 std::uint64_t source);

  // Once: a message about frames that cannot be read. On one of our threads.
  std::string take_warning();

  // Calls and stacks for which there was no room.
  std::uint64_t lost() const { return lost_.load(); }

 private:
  // Frames of CallStacks have the numbers before this one.
  static constexpr std::uint32_t first_frame = 1 << 20;
  static constexpr std::uint32_t of_profiler = 1;  // instead of the number of a frame
  static constexpr std::size_t most = 1 << 15;

  // Counts what has no room.
  template <class T>
  void write(ThreadSlots::Thread& thread, const T& entry);
  PythonStack::Reading reading_of(const ThreadSlots::Thread& thread) const;
  PythonStack functions_of(ThreadSlots::Thread& thread, PythonStack::Reading reading);
  // false: there is no room for it.
  bool describe(ThreadSlots::Thread& thread, PythonStack::Reading reading, std::uint32_t stack,
                const NativeStack& native);
  // The number of the frame; 0: there is no room for it.
  std::uint32_t native_number(ThreadSlots::Thread& thread, std::uint64_t address);
  bool write_native(ThreadSlots::Thread& thread, std::uint32_t number, const NativePlace& place);
  // The number of the frame; 0: there is no room for it.
  std::uint32_t frame_number(ThreadSlots::Thread& thread, const PythonFrame& frame);
  bool write_frame(ThreadSlots::Thread& thread, std::uint32_t number, const PythonFrame& frame);

  ThreadSlots& slots_;
  PythonInterpreter python_;
  bool all_threads_ = true;
  std::unique_ptr<NativeFrames> native_;  // null: not wanted
  HashNumbers<most> stacks_, frames_;
  std::atomic<std::uint64_t> lost_{0};
  bool warned_ = false;  // our own thread's
};

}  // namespace gpuprof::collect
