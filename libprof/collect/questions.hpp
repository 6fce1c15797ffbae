// Questions only the launcher can answer: whether the user means a kernel, an NVTX range, or a
// stream's number. It has the readable names and the patterns; there is neither a demangler nor a
// regular expression here, because an application's thread has little time and perhaps little
// stack.
//
// A question is sent once, and its answer is kept. The asking thread waits, but never for long:
// `patience` at first, and not at all once an answer failed to come in that time, until one comes
// again. A waiting thread reads the socket if nobody else does; frames that are not answers are
// left for the collector's own thread.
//
// Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libprof/collect/channel.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

class Questions {
 public:
  explicit Questions(Channel& channel) : channel_(channel) {}

  using Answer = std::shared_ptr<const wire::Fields>;

  // Null: no answer, for now.
  Answer kernel(std::string_view symbol);
  Answer range(std::string_view message);
  // Which numbers of a block match, as a bit set (wire/FORMAT.md, Questions).
  Answer numbers(std::uint32_t scope, std::string_view what, std::uint32_t block);

  // The next frame that is not an answer, if one arrives in time. For the collector's own thread.
  bool receive(wire::Frame& frame, int timeout_ms);

 private:
  using Clock = std::chrono::steady_clock;

  Answer ask(std::string key, wire::Fields question);
  // Call under the lock, which is released meanwhile. Returns when something may have changed.
  void wait(std::unique_lock<std::mutex>& lock, Clock::time_point until);
  void take(wire::Frame frame);

  Channel& channel_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool reading_ = false;  // a thread is reading the socket
  bool slow_ = false;     // the last wait was in vain
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::string, Answer> answers_;       // null: asked, not yet answered
  std::unordered_map<std::uint64_t, std::string> asked_;  // keys of `answers_`, by number
  std::size_t key_bytes_ = 0;
  std::deque<wire::Frame> others_;
};

}  // namespace gpuprof::collect
