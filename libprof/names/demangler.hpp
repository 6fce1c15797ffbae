// GNU's demangler, with limits. The profiled program chooses the names: `_Z1llAsrCpAsAsr` keeps the
// demangler busy forever, and 270 characters can expand to 4 GB of text.
//
// So it runs in a child process. A name that takes too much time or memory there, or crashes it,
// ends the child and stays mangled; the next name gets a new child. The child is a fork without
// exec. It keeps no descriptor except its end of a socket, handles no signal except the one that
// ends it, and exits when its parent does. Forking with other threads running is safe here: the
// child makes system calls and allocates nothing, nor does libiberty.
//
// A dedicated thread talks to the child, starting with the first name. Any thread may ask.
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

// Whether it may be a mangled C++ name. Without this prefix check a plain C name would be read as a
// type: "f" is float.
bool is_mangled(std::string_view name);

struct Readable {
  std::string text;      // the name itself if there is no other form
  bool changed = false;  // there is another form
  bool gave_up = false;  // no other form because of a limit, or because no child could be started
};

class Demangler {
 public:
  struct Limits {
    std::size_t name_bytes = std::size_t{32} << 10;
    std::size_t text_bytes = std::size_t{256} << 10;
    std::size_t memory_bytes = std::size_t{64} << 20;  // for the child's stack
    int name_ms = 500;         // CPU time for one name; a typical one takes 2 us
    int patience_ms = 10'000;  // for a child that is stopped or starved of CPU time
    // After this many lost children no further name is tried.
    int most_lost = 16;
    // Size of the cached names and answers. When it is exceeded, the cache is cleared.
    std::size_t cache_bytes = std::size_t{8} << 20;
  };

  Demangler() : Demangler(Limits()) {}
  explicit Demangler(const Limits& limits) : limits_(limits) {}
  // Pending requests are never answered.
  ~Demangler();
  Demangler(const Demangler&) = delete;
  Demangler& operator=(const Demangler&) = delete;

  // The shared instance. Never destroyed.
  static Demangler& shared();

  // Does not wait. The answer is called once: from within ask() if the child is not needed,
  // otherwise on the demangler's thread, which it must not block. Throws only std::bad_alloc; the
  // answer must not throw.
  using Answer = std::function<void(const Readable&)>;
  void ask(std::string name, Answer answer);

  // Waits for the answer. Must not be called on the demangler's thread.
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

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Request> asked_;
  bool stopping_ = false;
  std::unordered_map<std::string, Readable> cache_;
  std::size_t cached_bytes_ = 0;
  std::thread thread_;

  // Used only by thread_.
  int socket_ = -1;
  pid_t child_ = -1;
  int lost_ = 0;
};

}  // namespace gpuprof
