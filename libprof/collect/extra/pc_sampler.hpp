// PC sampling: at regular cycles, CUPTI records where the warps of a context are and what they are
// waiting for. This class turns it on for each context and reads it at intervals; the samples are
// sent unchanged, in dedicated frames (wire/code_values.hpp).
//
// Sampling that is turned on while kernels are being launched does not work and cannot be turned
// off again (13.5, H200): launches wait meanwhile.
//
// Contexts and modules are reported in CUPTI's callbacks, on the target's threads; the collector's
// own thread reads. CUPTI is called by one thread at a time. During a callback CUPTI may hold locks
// that it also takes when it is read: so a callback waits for the reader only for `patience`, and
// then leaves its part to the own thread. CUPTI samples one context of a device at a time; another
// one waits until that has ended.
//
// What CUPTI refuses is reported once, and the context is traced without samples.
#pragma once

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/captures.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/extra/context_collector.hpp"
#include "libprof/collect/extra/launch_gate.hpp"
#include "libprof/wire/code_values.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// A buffer for CUPTI to fill.
class PcData {
 public:
  explicit PcData(std::size_t reasons);
  CUpti_PCSamplingData* get() { return &data_; }

 private:
  std::vector<CUpti_PCSamplingStallReason> counts_;
  std::vector<CUpti_PCSamplingPCData> places_;
  CUpti_PCSamplingData data_{};
};

// All under calls_.
struct PcContext : KnownContext {
  enum class State { waiting, sampled, refused };
  State state = State::waiting;
  int attempts = 0;              // to begin
  std::unique_ptr<PcData> read;  // for each reading
  std::unique_ptr<PcData> rest;  // what CUPTI still has at the end
};

class PcSampler : public CollectorOf<PcContext> {
 public:
  // CUPTI version: before 12.8 Update 1, CUPTI cannot trace kernels while sampling.
  static constexpr std::uint32_t first_version = 27;

  struct Settings {
    int period = 0;                     // exponent of a power of two, in cycles; 0: CUPTI's default
    std::vector<std::string> reasons;   // without prefix; empty: all
    bool serialized = false;            // kernels run one at a time
    std::size_t buffer_bytes = 0;       // on the device; 0: CUPTI's default
    std::chrono::milliseconds every{};  // between readings
  };
  // nullopt: no samples are wanted.
  static std::optional<Settings> wanted(const wire::Fields& config);

  // `tell` passes messages to the user.
  PcSampler(CheckedApi& cupti, Channel& channel, Settings settings,
            std::function<void(std::string_view text)> tell);

  // In CUPTI's callbacks: launches, and captures into graphs, in which sampling does not begin and,
  // for a second, does not end.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // Whether a launch is under way.
  bool held() const { return launches_.any_inside(); }

  void watch() override;
  std::vector<wire::Statistic> statistics() const override;

 private:
  using Context = PcContext;
  using State = PcContext::State;

  // All of these are called under calls_.
  void begin(Context& context) override;
  CUptiResult enable(Context& context);
  bool disable(Context& context);
  // What failed, and whether it may work later.
  struct Failure {
    std::string why;
    bool may_pass = false;
  };
  std::optional<Failure> find_reasons(Context& context, std::vector<wire::CodeCounter>& reasons);
  int period_of(const Context& context);
  std::optional<Failure> configure(Context& context, const std::vector<wire::CodeCounter>& reasons,
                                   std::uint64_t& period);
  void refuse(Context& context, const std::string& why) override;
  // Unread samples at the end of a module could be attributed to a module loaded at the same place
  // later.
  void read(Context& context) override;
  void end(Context& context) override;
  void send(const Context& context, const CUpti_PCSamplingData& data);

  Channel& channel_;
  const Settings settings_;
  const std::function<void(std::string_view)> tell_;

  LaunchGate launches_;
  Captures captures_;
  bool told_ = false;  // the reason why a context is not sampled was reported; under calls_
  std::chrono::steady_clock::time_point next_reading_{};  // used by the own thread only
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace gpuprof::collect
