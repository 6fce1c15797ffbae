// The interpreter of another process, which runs on meanwhile. So a stack may be that of a moment
// that never was: half of it from before a call, half from after. A stack in which something is not
// what it should be is left out.
//
// All of it is read from the process, which may have written anything there: sizes and numbers of
// steps are limited, and no address is used here.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libprof/attach/image.hpp"
#include "libprof/attach/memory_map.hpp"
#include "libprof/python/function.hpp"
#include "libprof/python/layout.hpp"

namespace gpuprof::host {

// Used by one thread.
class RemotePython {
 public:
  explicit RemotePython(attach::ReadMemory read) : read_(std::move(read)) {}

  // Looks for an interpreter. Returns a message if its threads cannot be read; empty if they can,
  // or if there is no interpreter.
  std::string find(const std::vector<attach::Mapping>& maps);
  bool found() const { return runtime_ != 0; }

  struct Thread {
    pid_t id = 0;
    std::uint64_t state = 0;  // address
    std::uint64_t frame = 0;  // the innermost; 0: it is in no function
  };
  // An interpreter's lock: nobody else's words are in this memory.
  struct Lock {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t address) const { return address >= begin && address < end; }
    pid_t holder = 0;  // 0: nobody, or no thread of `threads`
  };
  struct Moment {
    std::vector<Thread> threads;
    std::vector<Lock> locks;  // of each interpreter
  };
  // false: the interpreter is not there any more, or not yet.
  bool read(Moment& moment) const;

  // A place in a function. Equal for the same code, as far as one can see from outside.
  struct Place {
    std::uint64_t code = 0, instruction = 0;
    std::uint64_t identity = 0;
    auto operator<=>(const Place&) const = default;
  };
  static constexpr std::size_t most_frames = 64;
  // Where the thread is now. false: it is not there any more.
  bool read_again(Thread& thread) const;
  // Innermost first, most_frames at most. false: it does not hold together.
  bool read_stack(const Thread& thread, std::vector<Place>& places) const;
  bool read_function(const Place& place, python::PythonFrame& function) const;

 private:
  static constexpr std::size_t most_threads = 256, most_interpreters = 8;
  static constexpr int most_steps = 512;  // frames, including those of no function

  bool read(std::uint64_t address, std::span<std::byte> to) const { return read_(address, to); }
  template <class T>
  bool read_value(std::uint64_t address, T& value) const {
    return read_(address, std::as_writable_bytes(std::span(&value, 1)));
  }
  bool read_threads(std::uint64_t interpreter, Moment& moment) const;
  bool read_thread(std::uint64_t state, Thread& thread, std::uint64_t& next) const;
  bool read_lock(std::uint64_t interpreter, std::span<const Thread> threads, Lock& lock) const;
  bool identify(Place& place) const;

  attach::ReadMemory read_;
  std::uint64_t runtime_ = 0;
  python::PythonTypes types_;
  python::PythonLayout layout_{};
};

}  // namespace gpuprof::host
