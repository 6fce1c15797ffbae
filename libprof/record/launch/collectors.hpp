// Connected collectors that messages can be sent to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// Sends a config frame. It is small, and never waits.
void send_config(int socket, const wire::Fields& fields);

// By stream. Any thread, even after the listener has ended.
class Collectors {
 public:
  // The connection owns the socket, and must call forget() before closing it.
  void add(std::uint32_t stream, int socket, bool target);
  void forget(std::uint32_t stream);
  void forget_all();

  // false: it has too many open questions, so this one gets no answer.
  bool asks(std::uint32_t stream);
  void answer(std::uint32_t stream, const wire::Fields& fields);
  // Lost on a collector that is gone or does not read.
  void tell(std::uint32_t stream, const wire::Fields& fields);

  // Tells all targets, and waits for their answers. Returns how many have not answered by then.
  struct Asked {
    std::size_t all = 0, silent = 0;
  };
  Asked ask(wire::Fields request, std::chrono::milliseconds patience);
  // A target has answered the request of this number.
  void answered(std::uint32_t stream, std::int64_t number);

 private:
  struct Collector {
    int socket = -1;
    int open_questions = 0;
    bool target = false;
    std::int64_t asked = 0, answered = 0;  // numbers of requests
  };

  static void send(const Collector& collector, const wire::Fields& fields);

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::int64_t last_request_ = 0;
  std::map<std::uint32_t, Collector> all_;
};

}  // namespace gpuprof::launch
