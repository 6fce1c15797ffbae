// SASS metrics: CUPTI inserts code next to the instructions of each launched kernel, which counts
// what they do. This class turns that on for each context, reads the counts, and sends them
// unchanged in dedicated frames (wire/code_values.hpp).
//
// The counts cover all launches in the context together, and are read where they would be lost:
// before a module is unloaded, before the context ends, and when the process does. Not in between:
// CUPTI keeps them on the device, reading them early gains nothing, and launches may hang after it.
//
// Alternatively they cover chosen launches individually: then counting is turned on before and off
// after each, and the counts are read, for which CUPTI waits for the GPU.
//
// Contexts and modules are reported in CUPTI's callbacks, on the target's threads. Counting begins
// as the context is created: CUPTI requires it to be current, which driver API contexts are not yet
// at that time, and doing it from a thread of ours hung the target (13.5, H200). A later trace
// picks what it wants from the metrics that CUPTI counts since an earlier one. CUPTI is called by
// one thread at a time; a callback waits for another thread's call only for `patience`. What CUPTI
// refuses is reported once, and the context is traced without counts.
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
#include "libprof/collect/extra/chosen_launches.hpp"
#include "libprof/collect/extra/context_collector.hpp"
#include "libprof/collect/extra/sass_configuration.hpp"
#include "libprof/wire/code_values.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// All under calls_, except members marked as safe for any thread.
struct SassContext : KnownContext {
  enum class State { waiting, counted, refused };
  SassContext() { not_yet = "CUPTI was busy with another context"; }
  std::atomic<State> state{State::waiting};         // any thread may read it
  bool whole = true;                                // nothing has been lost so far
  bool enabled = false;                             // CUPTI is counting
  std::optional<ChosenLaunches::Context> launches;  // any thread, once counted
};

class SassCounter : public CollectorOf<SassContext> {
 public:
  // The metrics to count, by CUPTI's names; nullopt: none are wanted. What may be traced at the
  // same time: record/trace_selection.hpp, only_calls.
  static std::optional<std::vector<std::string>> wanted(const wire::Fields& config);

  // `launches`: those counted individually; nullopt: all together. `tell` passes messages to the
  // user.
  SassCounter(CheckedApi& cupti, Channel& channel, SassConfiguration& configuration,
              std::vector<std::string> metrics, std::optional<wire::CollectConfig> launches,
              std::function<void(std::string_view text)> tell);

  // Whether driver_call() and listen() must be called.
  bool by_launch() const { return chosen_.has_value(); }
  // Whether a launch is under way whose end will be reported.
  bool held() const;
  // Launches of kernels and graphs, and stream capture.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // As in RangeProfiler.
  bool listen(int timeout_ms);
  // As in ChosenLaunches.
  std::unique_lock<std::timed_mutex> between_launches() { return chosen_->between(); }

  void watch() override;
  std::vector<wire::Statistic> statistics() const override;

 private:
  using Context = SassContext;
  using State = SassContext::State;
  using Hold = ChosenLaunches::Hold;

  struct Device {
    std::size_t counted = 0;                 // metrics that CUPTI counts
    bool has_all = false;                    // including all wanted metrics
    std::vector<wire::CodeCounter> metrics;  // the wanted ones that it has
    std::vector<std::uint64_t> ids;          // CUPTI's ids of `metrics`
  };
  // The outcome of a call.
  struct Result {
    const char* function;
    CUptiResult code;
  };

  // All of these are called under calls_.
  void begin(Context& context) override;
  Result find_metrics(const Context& context, Device& device);
  Result configure(const Context& context, Device& device);
  Result enable(Context& context);
  void disable(Context& context);
  void refuse(Context& context, const std::string& why) override;
  void read(Context& context) override;
  void end(Context& context) override;
  // `correlation`: of the launch; 0: of all launches together. `keep`: false discards the counts.
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
  bool told_ = false;  // the reason why a context is not counted was reported
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace gpuprof::collect
