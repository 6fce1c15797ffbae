// Everything collected per context: PC samples, and SASS metrics.
#pragma once

#include <cupti.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/extra/context_collector.hpp"
#include "libprof/collect/extra/pc_sampler.hpp"
#include "libprof/collect/extra/sass_counter.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class ContextCollectors {
 public:
  // Reports what CUPTI cannot do. Null: none are wanted, or none are possible. Call after
  // find_driver().
  static std::unique_ptr<ContextCollectors> wanted(
      const wire::Fields& config, CheckedApi& cupti, Channel& channel, SassConfiguration& sass,
      const std::function<void(std::string_view)>& tell);

  // Whether launches are counted individually: then listen() is needed, and callbacks for stream
  // capture.
  bool by_launch() const { return counter_ != nullptr; }

  // For contexts that already exist. On one of the target's threads, outside any callback.
  void begin(const std::vector<CUcontext>& contexts);

  // Whether a launch is under way whose end will be reported.
  bool held() const;

  // In CUPTI's callbacks: launches of kernels and graphs, and stream capture.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // The others are as in ContextCollector.
  void context_created(CUcontext context);
  void context_ends(CUcontext context);
  void module_ends(CUcontext context);
  void watch();
  void finish();
  void add_statistics(std::vector<wire::Statistic>& to) const;

  // From the collector's own thread, if launches are counted individually.
  bool listen(int timeout_ms) { return counter_->listen(timeout_ms); }
  std::unique_lock<std::timed_mutex> between_launches() { return counter_->between_launches(); }

 private:
  std::vector<std::unique_ptr<ContextCollector>> all_;
  // Elements of all_, or null.
  PcSampler* sampler_ = nullptr;
  SassCounter* counter_ = nullptr;  // for individual launches
};

}  // namespace gpuprof::collect
