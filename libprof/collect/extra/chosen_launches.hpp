// Counts chosen launches individually, if the user chose some: each has its context to itself from
// before the launch until it is over. Other launches in the context wait meanwhile. One launch is
// counted at a time, and nothing is flushed until it is over: CUPTI's flush and such a launch
// occasionally wait for each other (13.5, H200).
//
// Called in callbacks of launches and captures, on any thread. Also keeps statistics of launches
// that were not counted.
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "libprof/collect/captures.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/launch_selection.hpp"
#include "libprof/collect/questions.hpp"
#include "libprof/collect/range_session.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class ChosenLaunches {
 public:
  // State of one context.
  struct Context {
    Context(std::uint32_t device, std::uint32_t id) : shapes(device, id) {}

    std::shared_timed_mutex launching;  // exclusive: a launch is being counted; shared: others
    std::mutex choosing;                // guards `shapes`
    Shapes shapes;
    std::atomic<bool> disturbed{false};  // another launch got in between
    Watch watch;
  };

  // The choice of launches; nullopt: none, all are counted together.
  static std::optional<wire::CollectConfig> wanted(const wire::Fields& config);

  ChosenLaunches(Channel& channel, wire::CollectConfig config)
      : config_(std::move(config)), questions_(channel), selection_(config_, questions_) {}

  // What a launch holds of its context until it has returned.
  enum class Hold { nothing, shared, alone };
  // A launch begins; `alone`: it is to be counted. `stream` returns the stream's number; `begin`
  // turns counting on, and returns whether that worked.
  Hold begins(Context& context, const Launch& launch, const std::function<std::uint32_t()>& stream,
              const std::function<bool()>& begin);
  // The launch has returned. If it was counted, `end(sound)` reads the counts and turns counting
  // off; not sound: the counts include other launches.
  void ends(Context& context, Hold hold, const std::function<void(bool sound)>& end);

  // Whether the call is about stream capture. A capture begins only once nothing is being counted;
  // `contexts` returns all contexts.
  bool capture_call(CUpti_CallbackId id, const CUpti_CallbackData& call,
                    const std::function<std::vector<Context*>()>& contexts);

  // A lock that is held if no launch is being counted. Not held: one still is after waiting a
  // second. Any thread.
  std::unique_lock<std::timed_mutex> between();

  // Waits for a frame from the launcher, which is either an answer or meaningless here. From the
  // collector's own thread.
  bool listen(int timeout_ms);
  // From the collector's own thread: a kernel that has taken longer than a launch may, or null.
  // Returned once; nothing is counted from then on.
  const char* hanging(const std::vector<Context*>& contexts);

  std::vector<wire::Statistic> statistics() const;

 private:
  bool chooses(Context& context, const Launch& launch,
               const std::function<std::uint32_t()>& stream);
  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(config_.hang_ms); }

  const wire::CollectConfig config_;
  Questions questions_;
  LaunchSelection selection_;
  std::timed_mutex counting_;  // held while a launch is counted; taken after Context::launching
  Captures captures_;
  std::atomic<bool> off_{false};  // something hung
  std::atomic<std::uint64_t> graph_{0}, excluded_{0}, capture_{0}, failed_{0};
};

}  // namespace gpuprof::collect
