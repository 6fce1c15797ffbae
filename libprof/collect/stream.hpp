// What a process says to the launcher besides its rows: hello, what it found out, the tables of its
// rows, clocks, statistics, goodbye. The frames are described in libprof/wire/FORMAT.md.
//
// Needs a channel and nothing else of the collector, so that other programs can speak the same way.
// Nothing here fails: what the channel does not take is lost, and the channel knows it.
//
// Any thread, once greet() has returned.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class Stream {
 public:
  explicit Stream(Channel& channel) : channel_(channel) {}

  // Says who this process is, and waits for what the launcher wants of it. A launcher that stands
  // still has written that down beside its socket. Nothing: it is not to be had, and the channel is
  // shut. Again once that is shut, by one thread that no other speaks beside.
  std::optional<wire::Fields> greet(const wire::Fields& facts, const std::string& socket_path);
  // What the launcher answered when it was no longer waited for. Nothing: `frame` is something
  // else. One thread.
  std::optional<wire::Fields> late_answer(const wire::Frame& frame);

  // Something found out, as one field of an info frame.
  void tell(std::string_view what, std::string_view text);

  // The tables that batches have rows of. false: the channel did not take them whole.
  bool define(std::span<const wire::WireTable> tables);
  void name_functions(std::span<const wire::ApiName> names);
  // Memory of this process that the launcher looks through when the process has gone.
  void hand_over_arena(std::uint32_t slots, std::size_t slot_bytes, int file);
  void describe(const wire::PayloadSchema& payloads);

  // `cupti_now`: the running CUPTI's cuptiGetTimestamp; null: without its clock.
  void clock(wire::Clock::Moment moment, decltype(&::cuptiGetTimestamp) cupti_now);

  // Sends what `read` gives, unless it is the same as before. While the launcher stands still only
  // the last ones are sent: later ones take the place of earlier ones. `read` is called under the
  // lock, so that none comes behind newer ones.
  void statistics(bool last, const std::function<std::vector<wire::Statistic>()>& read);

  // Nothing comes behind it that has to come.
  void goodbye();

 private:
  template <class Message>
  bool send(wire::FrameType type, const Message& message);

  Channel& channel_;
  bool answer_is_due_ = false;
  std::mutex statistics_;  // held while they are read and sent; guards the next
  std::string last_statistics_;
};

}  // namespace gpuprof::collect
