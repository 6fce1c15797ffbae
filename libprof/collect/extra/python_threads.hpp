// What the threads of Python are in, for a signal handler: it has no time to ask an interpreter,
// and must call nothing of it. So one of our threads notes where the interpreter keeps the state of
// each thread, the handler copies addresses from there, and our thread finds out what they are.
//
// All of it is read through the kernel, as what is read may be gone by then. A function whose code
// is gone has no name.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libprof/python/function.hpp"
#include "libprof/python/layout.hpp"

namespace gpuprof::collect {

// Where a function of Python was.
struct PythonSpot {
  std::uint64_t code = 0, instruction = 0;
};
struct PythonSpots {
  static constexpr std::size_t most = 64;

  std::size_t count = 0;
  std::array<PythonSpot, most> spots;  // innermost first; as many as that
};

class PythonThreads {
 public:
  // `process`: our own id.
  explicit PythonThreads(pid_t process) : process_(process) {}

  // --- on our thread

  // Looks for an interpreter, unless it was found before. Takes the dynamic loader's lock:
  // Collector::loader_ before. Returns a message if its functions cannot be read.
  std::string find();
  bool found() const { return runtime_ != 0; }
  // An address in the interpreter's code, or in that of the program it is linked into.
  std::uint64_t code() const { return code_; }
  // The state of each thread that has one, by the thread's id.
  std::map<pid_t, std::uint64_t> states() const;
  // nullopt: it is not a function, or not any more.
  std::optional<python::PythonFrame> function_at(const PythonSpot& spot) const;
  // The same for the same place in the same function, as far as one can see. 0: it is none.
  std::uint64_t identity_of(const PythonSpot& spot) const;

  // --- in a signal handler of the thread

  // Empty if `state` is no longer that of this thread.
  void copy_spots(std::uint64_t state, pid_t thread, PythonSpots& spots) const;

 private:
  template <class T>
  bool read(std::uint64_t from, T& value) const;
  bool read(std::uint64_t from, void* to, std::size_t bytes) const;
  std::string look();

  const pid_t process_;
  std::uint64_t runtime_ = 0, code_ = 0;
  python::PythonTypes types_;
  python::PythonLayout layout_{};
  std::size_t frame_size_ = 0;
};

}  // namespace gpuprof::collect
