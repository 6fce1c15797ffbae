// Metrics: CUPTI's range profiler, driven by the callbacks of the target's own launches.
//
// Kernels are measured by auto ranges: between Start and Stop CUPTI makes a range of every launch
// in the context, in the order in which the calls return (measured). So launches in one context are
// let through one at a time while it is measured, and recorded when they return. A full counter
// data image is decoded and sent as is: the launcher evaluates it.
//
// LaunchSelection says which launches are wanted; a Policy per context decides what is measured of
// them and when a window ends; RangeSession carries it out with CUPTI; RangeContext combines these.
// This class picks the context, and decides who waits for whom.
//
// Any thread. Nothing here calls the driver. The first unexpected CUPTI result ends measuring in
// that context; tracing and the target go on.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/captures.hpp"
#include "libprof/collect/launch_selection.hpp"
#include "libprof/collect/questions.hpp"
#include "libprof/collect/range_context.hpp"
#include "libprof/collect/user_ranges.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class RangeProfiler {
 public:
  // `tell` passes a message to the user, as a field of an info frame.
  RangeProfiler(CheckedApi& cupti, Channel& channel, const wire::CollectConfig& config,
                std::function<void(std::string_view what, std::string_view text)> tell);

  // Waits for a frame from the launcher, and handles what is for this class. false: timed out. From
  // the collector's own thread.
  bool listen(int timeout_ms, wire::Frame& frame);

  // Launches of kernels and graphs, stream capture, and green contexts.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);

  // Whether these two are wanted: a thread opens an NVTX range, with a message or null, and closes
  // its innermost one.
  bool wants_nvtx() const;
  void nvtx_push(const char* message);
  void nvtx_pop();
  // cudaProfilerStart and cudaProfilerStop.
  void profiler_window(bool begins);
  // Any thread.
  bool measures_a_range() const { return ranges_.open() != 0; }

  // A range that the process marks itself, if ranges are measured; inside it cudaProfilerStart and
  // Stop are ignored. Returns its number, from 1, or 0 if it is not measured or another one is.
  std::uint64_t begin_own_range(const char* name);
  void end_own_range();

  // Measures from now on. `contexts`: those that already exist, in which threads may be launching.
  void begin(const std::vector<CUcontext>& contexts);
  void context_created(CUcontext context);
  // The last chance to read it.
  void context_ends(CUcontext context);
  // Reads everything left. The target may go on, unmeasured.
  void finish();
  // The same, and releases CUPTI's objects, since another profiler may follow. Waits for streams
  // that are being captured, for some seconds. Returns whether no launch uses it any more.
  bool leave();

  // From the collector's own thread, at intervals: reports once what hangs, and stops measuring.
  void watch();

  std::vector<wire::Statistic> statistics() const;

 private:
  RangeContext* find(CUcontext handle);
  void end_open_range();
  void close(RangeContext& context);
  // Calls f for each live context, under its lock. Returns whether all could be locked.
  bool for_each_idle(const std::function<void(RangeContext&)>& f);
  // A launch begins; and has returned.
  void enter(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void exit(const CUpti_CallbackData& call);
  // A launch that may be measured, under the context's lock. Returns whether it is.
  bool measure(RangeContext& context, const Launch& launch, std::uint32_t correlation);
  Decision decide(RangeContext& context, const Launch& launch, const Shape& shape);
  // The context that CUPTI measures the calling thread's launch in.
  CUcontext measured_in(CUcontext context) const;
  // What the launch will run on, as far as it is known; learns that first if it is to be measured,
  // in this group. Null: the whole device.
  GreenContexts::Part part_of(RangeContext& context, const Launch& launch, int group);
  // The device's profiler object is free for this context. false: another thread uses it.
  bool release_others(const RangeContext& context);

  void suspend_all();

  bool user_ranges() const { return measuring_.config.mode == wire::ReplayMode::range; }
  // All of these under ranges_mutex_, except join_range.
  void begin_range(const char* name);
  RangeContext* join_range(CUcontext handle);
  void push_range(RangeContext& context);
  void end_range();

  const std::uint64_t number_;  // among all instances in the process
  Measuring measuring_;
  Questions questions_;
  LaunchSelection selection_;

  std::shared_mutex contexts_mutex_;
  std::vector<std::unique_ptr<RangeContext>> contexts_;  // never removed: callbacks keep pointers
  std::atomic<int> live_contexts_{0};
  std::mutex ranges_mutex_;  // guards the next three, except what any thread may call
  OpenRanges ranges_;
  std::string range_name_;  // of the range being measured
  bool own_range_ = false;  // it was marked by the process

  Captures captures_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> off_{false};  // nothing more is measured
};

}  // namespace gpuprof::collect
