// The Python functions that a thread is in, read out of the interpreter's memory by the thread
// itself. The thread is in C code meanwhile, so they do not change. No interpreter lock is taken or
// waited for, nothing is modified, and the only functions called are those that return the thread's
// own state and, if its memory is not as expected, whether the interpreter is alive.
//
// Memory that has not been verified is read through the kernel, which returns an error where we
// would crash: a thread's state and frames always, because a finalizing interpreter frees those of
// other threads than the one that finalizes it, but not what is on their stacks; code objects, and
// what they own, until they have been verified once. Such a pointer in a live frame refers to a
// live object. PythonStack::Reading says what else is read directly. Whatever is, is in pages that
// the kernel could read when they were first wanted: a program may have what only looks like an
// interpreter.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "libprof/python/function.hpp"
#include "libprof/python/layout.hpp"

namespace gpuprof::collect {

using python::id_of;
using python::PythonFrame;

class PythonInterpreter {
 public:
  // Whether the process has one at all. Takes the loader's lock, as find().
  static bool is_there();
  // Looks for an interpreter. Takes the loader's lock: not for use during a call of the target's.
  // Returns a message if its frames cannot be read; empty if they can, or if there is no
  // interpreter.
  std::string find();
  bool found() const { return thread_state_ != nullptr; }
  // Whether the calling thread holds the interpreter's lock, without which nobody finalizes it.
  bool holds_lock() const {
    return current_state_ && found() && current_state_() == thread_state_();
  }
  // The address range of the interpreter's code, or of the program it is linked into. Empty: there
  // is none.
  struct Code {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t address) const { return address >= begin && address < end; }
  };
  const Code& code() const { return code_; }
  // Memory was not as expected: nothing is read from then on.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  const std::string& version() const { return version_; }

 private:
  friend class PythonStack;

  using ThreadState = void*();
  using Question = int();

  // Whether it is finalizing, or has finalized.
  bool ends() const { return is_ending_() != 0 || is_initialized_() == 0; }
  // The calling thread's, which is the process's first. Python's call for it is five cold cache
  // lines; a state that is part of the runtime stays where it is, and is as new once its thread has
  // ended.
  std::uint64_t state_of_first_thread() {
    const std::uint64_t known = state_of_first_.load(std::memory_order_relaxed);
    return known != 0 ? known : find_state_of_first_thread();
  }
  std::uint64_t find_state_of_first_thread();
  // The first, without a call. Once it has finalized, threads have no states.
  bool is_finalizing() const { return __atomic_load_n(finalizing_, __ATOMIC_RELAXED) != 0; }
  // Whether these bytes may be read directly, as explained above. At most a page.
  bool is_mapped(std::uint64_t at, std::size_t bytes) {
    const std::uint64_t first = at / page_bytes, last = (at + bytes - 1) / page_bytes;
    return is_mapped_page(first) && (first == last || is_mapped_page(last));
  }
  bool is_mapped_page(std::uint64_t page) {
    const auto& quick = quick_pages_[page % quick_pages_.size()];
    return (page != 0 && quick.load(std::memory_order_relaxed) == page) || find_page(page);
  }
  bool find_page(std::uint64_t page);
  // Reads directly what is `known` to be there. false: it is not.
  bool read(bool known, std::uint64_t from, void* to, std::size_t bytes);
  bool is_known(std::uint64_t code) const;
  void remember(std::uint64_t code);
  std::string look();
  std::string learn_layout(unsigned long version);
  std::string is_built_otherwise() const {
    return "Python " + version_ + " is built in a way that is not known";
  }

  // What each walk needs comes first: few cache lines.
  alignas(64) ThreadState* thread_state_ = nullptr;  // the thread's
  ThreadState* current_state_ = nullptr;  // the same where it holds the lock; null: cannot be asked
  const std::uint64_t* finalizing_ = nullptr;  // 0: it is not
  std::size_t frame_size_ = 0;
  std::atomic<std::uint64_t> state_of_first_{0};  // 0: not known, or not part of the runtime
  std::atomic<bool> failed_{false};
  python::PythonLayout layout_{};
  python::PythonTypes types_;
  std::span<const std::byte> runtime_;
  Question *is_ending_ = nullptr, *is_initialized_ = nullptr;
  Code code_;
  std::string version_;
  static constexpr std::uint64_t page_bytes = 4096;
  // Each in one of the four slots of its set: code objects by address, pages by number.
  using Set = std::array<std::array<std::atomic<std::uint64_t>, 4>, 1024>;
  static bool has(const Set& set, std::uint64_t what);
  static void add(Set& set, std::uint64_t what);
  Set known_{}, pages_{};
  // Some of the pages, each in the place of its number, where it is found faster.
  std::array<std::atomic<std::uint64_t>, 1024> quick_pages_{};
  // Lines of instructions: the upper 40 bits are a hash, the lower 24 the line.
  std::array<std::atomic<std::uint64_t>, 4096> lines_{};
};

// The calling thread's functions, innermost first. Uses some 13 KiB of stack.
class PythonStack {
 public:
  static constexpr std::size_t most_frames = 64;  // that a stack is known by

  // What is read through the kernel: the thread's state and its frames; only the frames, since a
  // state that is freed stays mapped as a rule; or neither, on a thread that holds the
  // interpreter's lock, and on the process's first thread, which is the one that finalizes an
  // interpreter.
  enum class Reading { by_kernel, frames_by_kernel, direct, of_first_thread };

  // What is known to be mapped of the thread's own stack; empty: nothing.
  struct OwnStack {
    std::uint64_t begin = 0, end = 0;
  };
  // From the caller's frame to the thread's descriptor, which glibc puts at the end of the stacks
  // of all threads but the first. Empty where the descriptor is elsewhere.
  static OwnStack own_stack();

  // `from`: where the outermost frames are that the thread's last walk needed. Callers stay where
  // they are, so that all is read in one go. 0: there was none.
  PythonStack(PythonInterpreter& python, OwnStack stack, Reading reading, std::uint64_t& from);
  ~PythonStack();
  PythonStack(const PythonStack&) = delete;
  PythonStack& operator=(const PythonStack&) = delete;

  bool next(PythonFrame& frame);
  // A number for the functions that are left and the places in them, most_frames of them at most;
  // the same for the same instructions, of which threads may have copies (instructions_of). 0:
  // there are none. Takes a few ns for each function.
  std::uint64_t hash();

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t cache_line = 64;
  static constexpr std::size_t largest_span = 2 * page;
  static constexpr int most_steps = 512;  // frames, including those of no function

  struct Place {
    std::uint64_t code = 0, instruction = 0;
  };
  struct Frame {
    std::uint64_t code, previous, instruction;
    std::uint8_t owner;
  };

  bool is_direct() const { return reading_ >= Reading::direct; }
  bool next_place(Place& place);
  bool read_frame(std::uint64_t at, Frame& frame);
  bool read_frame(std::uint64_t at, std::span<std::byte> frame);
  bool is_in_page_of_frames(std::uint64_t at, std::size_t size) const {
    return at / page == page_of_frames_ && (at + size - 1) / page == page_of_frames_;
  }
  bool find_page_of_frames(std::uint64_t at, std::size_t size);
  // Reads what only this code object had at its address.
  bool identify(std::uint64_t code, std::uint64_t& word);
  bool sample(std::uint64_t code, std::uint32_t line, std::uint64_t& word);
  template <class T>
  bool peek(std::uint64_t at, T& value);
  bool read_function(std::uint64_t code, std::uint64_t instruction, PythonFrame& frame) const;
  bool find_line(bool known, const python::PythonLineTable& table, std::uint64_t unit,
                 std::uint32_t& found) const;
  bool give_up();
  bool is_own_stack(std::uint64_t at, std::uint64_t bytes) const {
    return at >= stack_.begin && at < stack_.end && stack_.end - at >= bytes;
  }

  // What was read in one go. As the kernel copies it fastest: from a cache line to a cache line.
  template <std::size_t most>
  struct Window {
    std::uint64_t begin, end;
    alignas(cache_line) std::array<std::byte, most + cache_line + python::frame_bytes> bytes;
  };
  // Reads from the beginning of the frame's page on, or from `from`, if that is before it.
  template <std::size_t most>
  bool read_window(Window<most>& window, std::uint64_t from, std::uint64_t at,
                   std::span<std::byte> frame);

  PythonInterpreter& python_;
  const Reading reading_;
  const OwnStack stack_;
  std::uint64_t& from_;
  std::uint64_t frame_ = 0;
  int steps_ = 0;
  std::uint64_t page_of_frames_ = 0;  // which is mapped; 0: none
  // What the walk has needed of the interpreter's frames, as far as one read goes.
  std::uint64_t first_ = 0, lowest_ = 0;
  // Not initialized for direct reading, which uses neither: their memory is cold.
  Window<largest_span> frames_;  // of the interpreter
  Window<page> on_stack_;        // outside the known part
};

}  // namespace gpuprof::collect
