// What is collected of each context apart, all that is wanted of it: samples of PCs, and counts of
// what instructions do.
#pragma once

#include <cupti.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/context_collector.hpp"
#include "libprof/collect/pc_sampler.hpp"
#include "libprof/collect/sass_counter.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class ContextCollectors {
 public:
  // What CUPTI cannot do is told. Null: none are wanted, or can be had. After find_driver().
  static std::unique_ptr<ContextCollectors> wanted(const wire::Fields& config, CheckedApi& cupti,
                                                   Channel& channel, SassConfiguration& sass,
                                                   std::function<void(std::string_view)> tell);

  // Whether launches are counted by themselves: listen() is wanted then, and stream capture is to
  // be told of.
  bool by_launch() const { return counter_ != nullptr; }

  // Of contexts that are there. From a thread of the target's that is in no callback.
  void begin(const std::vector<CUcontext>& contexts);

  // Whether a launch that is under way will tell of its end.
  bool held() const;

  // In CUPTI's callbacks: launches of kernels and graphs, and stream capture.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // The others as ContextCollector's.
  void context_created(CUcontext context);
  void context_ends(CUcontext context);
  void module_ends(CUcontext context);
  void watch();
  void finish();
  void add_statistics(std::vector<wire::Statistic>& to) const;

  // From the own thread, where launches are counted by themselves.
  bool listen(int timeout_ms) { return counter_->listen(timeout_ms); }
  std::unique_lock<std::timed_mutex> between_launches() { return counter_->between_launches(); }

 private:
  std::vector<std::unique_ptr<ContextCollector>> all_;
  // In there; null: there is none.
  PcSampler* sampler_ = nullptr;
  SassCounter* counter_ = nullptr;  // of launches by themselves
};

}  // namespace gpuprof::collect
