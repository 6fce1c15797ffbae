// What a process tells the launcher apart from its rows: hello, later findings, table definitions,
// clocks, statistics, goodbye. libprof/wire/FORMAT.md describes the frames.
//
// Requires only a channel and nothing else of the collector, so that other programs can communicate
// the same way. Nothing here fails: what the channel does not accept is lost, and the channel
// knows.
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
#include "schema/statistics.hpp"

namespace gpuprof::collect {

class Stream {
 public:
  explicit Stream(Channel& channel) : channel_(channel) {}

  // Introduces this process, and waits for the launcher's config. A stalled launcher has left that
  // in a file next to its socket. nullopt: no config was available, and the channel is shut. May be
  // called again after that, by one thread while no other sends.
  std::optional<wire::Fields> greet(const wire::Fields& facts, const std::string& socket_path);
  // The launcher's answer, if it arrives after the wait was over. nullopt: `frame` is something
  // else. One thread.
  std::optional<wire::Fields> late_answer(const wire::Frame& frame);

  // Reports a finding, as one field of an info frame.
  void tell(std::string_view what, std::string_view text);

  // Says why something is missing that a statistic counts.
  void explain(schema::StatisticName statistic, std::string_view why);

  // The tables whose rows batches contain. false: the channel did not accept all of them.
  bool define(std::span<const wire::WireTable> tables);
  void name_functions(std::span<const wire::ApiName> names);
  // Memory of this process that the launcher reads after the process is gone.
  void hand_over_arena(std::uint32_t slots, std::size_t slot_bytes, int file);
  void describe(const wire::PayloadSchema& payloads);

  // `cupti_now`: the running CUPTI's cuptiGetTimestamp; null: omit its clock.
  void clock(wire::Clock::Moment moment, decltype(&::cuptiGetTimestamp) cupti_now);

  // Sends the result of `read`, unless it is unchanged. While the launcher is stalled only the
  // latest is kept: it replaces earlier ones. `read` is called under the lock, so that statistics
  // never go out after newer ones.
  void statistics(bool last, const std::function<std::vector<wire::Statistic>()>& read);

  // No essential frame follows it.
  void goodbye();

 private:
  void send_info(wire::Fields fields);
  template <class Message>
  bool send(wire::FrameType type, const Message& message);

  Channel& channel_;
  bool answer_is_due_ = false;
  std::mutex statistics_;  // held while they are read and sent; guards last_statistics_
  std::string last_statistics_;
};

}  // namespace gpuprof::collect
