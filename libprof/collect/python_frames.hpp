// The functions of Python that a thread is in, read out of the interpreter's memory by the thread
// itself, which is in C meanwhile, so that they stand still. No lock of the interpreter is taken or
// waited for, nothing of it called but what returns the thread's own state, nothing changed.
//
// Memory that was not proved to be what it should is read by the kernel, which answers where we
// would crash: a thread's state and frames always, for an interpreter that ends takes them away;
// code objects, and what these own, until they were once found to be that. Such a pointer in a live
// frame is of a live object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gpuprof::collect {

// Texts are filled up with zeros.
struct PythonFrame {
  std::array<char, 256> file{};      // of a longer one its end
  std::array<char, 128> function{};  // qualified; of a longer one its beginning
  std::uint32_t line = 0;            // 0: not known
};

// Where fields are, in bytes.
struct PythonLayout {
  struct {
    std::uint64_t current;  // frame; where frames_of_c is set, what has it
    std::uint64_t id;
  } thread;
  struct {
    bool there;
    std::uint64_t frame;
  } frames_of_c;
  struct {
    std::uint64_t code, previous, instruction, owner;
  } frame;
  struct {
    std::uint64_t file, function, lines, first_line, instructions;
  } code;
  struct {
    std::uint64_t size, text;
  } bytes;
  struct {
    std::uint64_t length, state, ascii_text, text;
  } string;
  std::uint64_t type;  // of an object
};

class PythonInterpreter {
 public:
  // Looks for one. Takes the loader's lock: not in a call of the target's. What to tell when it is
  // none whose frames can be read; empty: it is, or there is none.
  std::string find();
  bool found() const { return thread_state_ != nullptr; }
  // Where its own code is, or the program's that it is a part of. Empty: there is none.
  struct Code {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t address) const { return address >= begin && address < end; }
  };
  const Code& code() const { return code_; }
  // Memory was not as it should be: nothing is read from then on.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  const std::string& version() const { return version_; }

 private:
  friend class PythonStack;

  using ThreadState = void*();
  using Question = int();

  // Or has ended.
  bool ends() const { return is_ending_() != 0 || is_initialized_() == 0; }
  bool is_known(std::uint64_t code) const;
  void remember(std::uint64_t code);
  std::string look();
  std::string learn_layout(unsigned long version);

  ThreadState* thread_state_ = nullptr;
  Question *is_ending_ = nullptr, *is_initialized_ = nullptr;
  const void *code_type_ = nullptr, *string_type_ = nullptr, *bytes_type_ = nullptr;
  PythonLayout layout_{};
  Code code_;
  std::string version_;
  std::atomic<bool> failed_{false};
  // Code objects, by their address: each in one of the four places of its own.
  std::array<std::array<std::atomic<std::uint64_t>, 4>, 1024> known_{};
  // Of instructions: the upper 40 bits are of a hash, the lower 24 the line.
  std::array<std::atomic<std::uint64_t>, 4096> lines_{};
};

struct PythonLineTable {
  bool known;  // as said above
  std::uint64_t code, text, size;
  std::int64_t first_line;
};

// The calling thread's functions, the innermost first. Some 10 KiB of its stack.
class PythonStack {
 public:
  static constexpr std::size_t frame_bytes = 96;  // of a frame at most are read

  // From `begin` to `end` the thread's own stack is known to be there.
  PythonStack(PythonInterpreter& python, std::uint64_t begin, std::uint64_t end);

  bool next(PythonFrame& frame);

 private:
  static constexpr std::size_t page = 4096;
  static constexpr int most_steps = 512;  // frames, with those that are no function's

  bool read_frame(std::uint64_t at, std::span<std::byte, frame_bytes> frame);
  bool read_function(std::uint64_t code, std::uint64_t instruction, PythonFrame& frame) const;
  bool find_line(const PythonLineTable& table, std::uint64_t unit, std::uint32_t& found) const;
  bool give_up();
  bool is_own_stack(std::uint64_t at, std::uint64_t bytes) const {
    return at >= begin_ && at < end_ && end_ - at >= bytes;
  }

  PythonInterpreter& python_;
  const std::uint64_t begin_, end_;
  std::uint64_t frame_ = 0;
  int steps_ = 0;
  struct Window {  // what was read at once
    std::uint64_t begin = 0, end = 0;
    std::array<std::byte, page + frame_bytes> bytes;
  };
  std::array<Window, 2> windows_;
};

}  // namespace gpuprof::collect
