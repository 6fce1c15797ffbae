// Collectors that can be told something while they are connected.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// A frame of configuration. It is small, and never waits.
void send_config(int socket, const wire::Fields& fields);

// By stream. Any thread, also after the listener's end.
class Collectors {
 public:
  // The socket is the connection's, which forgets the stream before it closes it.
  void add(std::uint32_t stream, int socket);
  void forget(std::uint32_t stream);
  void forget_all();

  // False: it has so many open questions that it gets no answer to this one.
  bool asks(std::uint32_t stream);
  void answer(std::uint32_t stream, const wire::Fields& fields);
  // Misses who is not there any more, or does not read.
  void tell(std::uint32_t stream, const wire::Fields& fields);

 private:
  struct Collector {
    int socket = -1;
    int open_questions = 0;
  };

  static void send(const Collector& collector, const wire::Fields& fields);

  std::mutex mutex_;  // guards the next
  std::map<std::uint32_t, Collector> all_;
};

}  // namespace gpuprof::launch
