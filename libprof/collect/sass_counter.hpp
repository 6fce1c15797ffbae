// SASS metrics: CUPTI puts code beside the instructions of each kernel that is launched, which
// counts what they do. Here that is switched on for each context, and the counts are read and sent
// as they are, in frames of their own (wire/sass_metrics.hpp).
//
// They are of all launches of the context together, and are read where they would be lost: before a
// module is unloaded, before the context ends, and when the process does. Not in between: CUPTI
// keeps them on the device, nothing is won by reading them early, and launches may hang behind it.
//
// Or of chosen launches, each by itself: then counting is switched on before and off behind each,
// and the counts are read, for which CUPTI waits for the GPU.
//
// Contexts and modules are heard of in CUPTI's callbacks, on the target's threads. Counting begins
// as the context is made: CUPTI wants it to be current then, which the driver API's are not yet,
// and from a thread of ours the target hung (13.5, H200). Of the metrics that CUPTI
// counts since an earlier trace a later one has what it wants. Calls of CUPTI's are made one at a
// time; a callback waits for another thread's only for `patience`. What CUPTI refuses is told once,
// and the context is traced without.
#pragma once

#include <cupti.h>
#include <cupti_sass_metrics.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/chosen_launches.hpp"
#include "libprof/collect/context_collector.hpp"
#include "libprof/collect/sass_configuration.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/sass_metrics.hpp"

namespace gpuprof::collect {

// All under calls_, but for what is said to be for any thread.
struct SassContext : KnownContext {
  enum class State { waiting, counted, refused };
  SassContext() { not_yet = "CUPTI was busy with another context"; }
  std::atomic<State> state{State::waiting};         // any thread may ask
  bool whole = true;                                // what was read so far
  bool enabled = false;                             // CUPTI counts
  std::optional<ChosenLaunches::Context> launches;  // any thread, once it is counted
};

class SassCounter : public CollectorOf<SassContext> {
 public:
  // The metrics to count, as CUPTI calls them. Nothing: none are wanted. What may be
  // traced beside: record/trace_selection.hpp, only_calls.
  static std::optional<std::vector<std::string>> wanted(const wire::Fields& config);

  // `launches`: which are counted by themselves; nothing: all together. `tell` passes on what the
  // user is to know.
  SassCounter(CheckedApi& cupti, Channel& channel, SassConfiguration& configuration,
              std::vector<std::string> metrics, std::optional<wire::CollectConfig> launches,
              std::function<void(std::string_view text)> tell);

  // Whether driver_call() and listen() are wanted.
  bool by_launch() const { return chosen_.has_value(); }
  // Whether a launch that is under way will tell of its end.
  bool held() const;
  // Launches of kernels and graphs, and stream capture.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // As RangeProfiler's.
  bool listen(int timeout_ms);
  // As ChosenLaunches'.
  std::unique_lock<std::timed_mutex> between_launches() { return chosen_->between(); }

  void watch() override;
  std::vector<wire::Statistic> statistics() const override;

 private:
  using Context = SassContext;
  using State = SassContext::State;
  using Hold = ChosenLaunches::Hold;

  struct Device {
    std::size_t counted = 0;                // metrics that CUPTI counts
    bool has_all = false;                   // these are among them
    std::vector<wire::SassMetric> metrics;  // those that it has of the wanted ones
    std::vector<std::uint64_t> ids;         // CUPTI's, of these
  };
  // What became of a call.
  struct Result {
    const char* function;
    CUptiResult code;
  };

  // All of these under calls_.
  void begin(Context& context) override;
  Result find_metrics(const Context& context, Device& device);
  Result configure(const Context& context, Device& device);
  Result enable(Context& context);
  void disable(Context& context);
  void refuse(Context& context, const std::string& why) override;
  void read(Context& context) override;
  void end(Context& context) override;
  // `correlation`: of the launch; 0: of all together. `keep`: false to throw it away.
  void read(Context& context, std::uint32_t correlation, bool keep);
  void send(const Context& context, const Device& device,
            std::span<const CUpti_SassMetrics_Data> instructions, std::size_t values,
            std::uint32_t correlation);

  void launch_begins(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void launch_ends(const CUpti_CallbackData& call);
  std::vector<ChosenLaunches::Context*> launching() const;

  Channel& channel_;
  SassConfiguration& configuration_;
  const std::vector<std::string> wanted_;
  const std::function<void(std::string_view)> tell_;
  std::optional<ChosenLaunches> chosen_;

  // Under calls_.
  std::map<std::uint32_t, Device> devices_;
  bool told_ = false;  // why a context is not counted
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace gpuprof::collect
