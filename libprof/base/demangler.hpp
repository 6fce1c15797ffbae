// GNU's demangler, with limits. Names are the program's to choose: `_Z1llAsrCpAsAsr` keeps it for
// ever, and 270 characters can become a text of 4 GB.
//
// So it works in a child process. A name that takes too much time or memory there, or makes it
// crash, ends the child and stays as it is; the next one gets a new child. The child is a fork
// without exec. It has no descriptor but its end of a socket, keeps no signal but the one that ends
// it, and goes when its parent goes. To fork beside other threads is safe here: the child makes
// system calls and allocates nothing, nor does libiberty.
//
// A thread of its own talks to the child, from the first name on. Any thread may ask.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

namespace gpuprof {

// Whether it may be a mangled C++ name. Without the prefix a plain C name would be read as a type:
// "f" is float.
bool is_mangled(std::string_view name);

struct Readable {
  std::string text;      // the name itself where there is no other form
  bool changed = false;  // there is one
  bool gave_up = false;  // none because of a limit, or for want of a child
};

class Demangler {
 public:
  struct Limits {
    std::size_t name_bytes = std::size_t{32} << 10;
    std::size_t text_bytes = std::size_t{256} << 10;
    std::size_t memory_bytes = std::size_t{64} << 20;  // for the child's stack
    int name_ms = 500;         // processor time of one name; a usual one takes 2 us
    int patience_ms = 10'000;  // for a child that was stopped or gets no processor
    // Children that may be lost before no name is tried any more.
    int most_lost = 16;
    // Of names and answers that are kept. When they are more, all are forgotten.
    std::size_t cache_bytes = std::size_t{8} << 20;
  };

  Demangler() : Demangler(Limits()) {}
  explicit Demangler(const Limits& limits) : limits_(limits) {}
  // What was asked for and is not answered yet never is.
  ~Demangler();
  Demangler(const Demangler&) = delete;
  Demangler& operator=(const Demangler&) = delete;

  // The one that all share. Never destroyed.
  static Demangler& shared();

  // Does not wait. The answer is given once: from within ask() where the child is not needed, else
  // on the demangler's thread, which must not be kept. Throws nothing but std::bad_alloc, and the
  // answer may throw nothing.
  using Answer = std::function<void(const Readable&)>;
  void ask(std::string name, Answer answer);

  // Waits for the answer. Not on the demangler's thread.
  Readable now(std::string name);

 private:
  struct Request {
    std::string name;
    Answer answer;
  };

  bool start();  // under mutex_
  void run();
  void work_off(std::deque<Request>& batch);
  bool spawn();
  void lose_child();
  bool send(const std::deque<Request>& batch);
  bool receive(Readable& readable);
  bool receive(void* bytes, std::size_t count);
  void answer(std::deque<Request>& batch, const Readable& readable, bool keep);

  const Limits limits_;

  std::mutex mutex_;  // guards the next
  std::condition_variable changed_;
  std::deque<Request> asked_;
  bool stopping_ = false;
  std::unordered_map<std::string, Readable> cache_;
  std::size_t cached_bytes_ = 0;
  std::thread thread_;

  // The thread's own.
  int socket_ = -1;
  pid_t child_ = -1;
  int lost_ = 0;
};

}  // namespace gpuprof
