// Launches that are counted each by itself, where the user chose some: those have their context to
// themselves from before the launch until they are over. Other launches of the context wait
// meanwhile. One is counted at a time, and nothing is flushed until it is over: CUPTI's flush and
// such a launch wait for each other now and then (13.5, H200).
//
// In the callbacks of launches and captures, any thread. What was not counted is counted here.
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
  // What is known of one context.
  struct Context {
    Context(std::uint32_t device, std::uint32_t id) : shapes(device, id) {}

    std::shared_timed_mutex launching;  // alone: a launch is counted; shared: others are made
    std::mutex choosing;                // guards the next
    Shapes shapes;
    std::atomic<bool> disturbed{false};  // a launch got in between
    Watch watch;
  };

  // Which are chosen; nothing: none, all are counted together.
  static std::optional<wire::CollectConfig> wanted(const wire::Fields& config);

  ChosenLaunches(Channel& channel, wire::CollectConfig config)
      : config_(std::move(config)), questions_(channel), selection_(config_, questions_) {}

  // What a launch holds of its context until it has returned.
  enum class Hold { nothing, shared, alone };
  // A launch begins; alone: it is to be counted. `stream` gives the stream's number; `begin`
  // switches counting on, and says whether that worked.
  Hold begins(Context& context, const Launch& launch, const std::function<std::uint32_t()>& stream,
              const std::function<bool()>& begin);
  // It has returned. Of a counted one `end(sound)` reads and switches counting off; not sound: what
  // was counted is of other launches too.
  void ends(Context& context, Hold hold, const std::function<void(bool sound)>& end);

  // Whether a call is of a stream capture. One begins when nothing is counted; `contexts` gives
  // all there are.
  bool capture_call(CUpti_CallbackId id, const CUpti_CallbackData& call,
                    const std::function<std::vector<Context*>()>& contexts);

  // Held: no launch is counted. Not held: one is, for a second already. Any thread.
  std::unique_lock<std::timed_mutex> between();

  // Waits for something that the launcher says, which is an answer or means nothing here. From the
  // own thread.
  bool listen(int timeout_ms);
  // From the own thread: the kernel whose end is waited for longer than a launch may take, once.
  // Nothing is counted from then on. Null: none.
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
