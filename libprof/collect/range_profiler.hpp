// Metrics: CUPTI's range profiler, driven by the callbacks of the target's own launches.
//
// Kernels are measured by auto ranges: between Start and Stop CUPTI makes a range of every launch
// of the context, in the order in which the calls return (measured). So launches of one context are
// let through one at a time while it is measured, and noted when they return. A full counter data
// image is decoded and sent as it is: the launcher evaluates it.
//
// Launches and contexts are in range_profiler.cpp, CUPTI's calls in range_session.cpp, the rest in
// range_multiplex.cpp and user_ranges.cpp.
//
// Any thread. Nothing here calls the driver. The first unexpected answer of CUPTI's ends measuring
// in that context; tracing and the target go on.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/questions.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class RangeProfiler {
 public:
  // `tell` passes on what the user is to know: a field of an info frame.
  RangeProfiler(CheckedApi& cupti, Channel& channel, wire::CollectConfig config,
                std::function<void(std::string_view what, std::string_view text)> tell);
  ~RangeProfiler();

  // Waits for something that the launcher says, and minds it. false: nothing in this time. From the
  // own thread.
  bool listen(int timeout_ms);

  // Launches of kernels and graphs, and stream capture.
  void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call);

  // What NVTX calls are wanted, and their callback.
  static std::span<const CUpti_CallbackId> nvtx_calls();
  bool wants_nvtx() const;
  void nvtx_call(CUpti_CallbackId id, const CUpti_NvtxData& call);
  // cudaProfilerStart and cudaProfilerStop.
  void profiler_window(bool begins);
  // Any thread.
  bool measures_a_range() const { return open_range_.load() != 0; }

  void context_created(CUcontext context);
  // Its last chance to be read.
  void context_ends(CUcontext context);
  // Reads all that is left. The target may go on, unmeasured.
  void finish();

  // From the own thread, now and then: says once what hangs, and stops measuring.
  void watch();

  std::vector<wire::Statistic> statistics() const;

 private:
  struct Context;
  struct Launch;
  struct Shape;
  class Busy;

  Context* find(CUcontext handle);
  void enter(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void exit(const CUpti_CallbackData& call);
  // The group to measure this launch in; negative: not asked for.
  int group_for(Context& context, const Launch& launch, Shape& shape);
  int group_of_scope(const Context& context, std::uint32_t scope) const;
  // The one that it is configured for.
  const wire::CollectGroup& group_of(const Context& context) const;
  bool multiplex_wants(Context& context, Shape& shape);
  Shape& shape_of(Context& context, const Launch& launch);
  // Asks the launcher, which may not answer: then it is asked again at the next launch.
  void learn(Context& context, const Launch& launch, Shape& shape);
  // Nothing: not known. `what` as in a question.
  std::optional<bool> takes_number(Context& context, std::uint32_t scope, const char* what,
                                   std::uint64_t number);
  // The launcher knows the metrics of a group and a kernel shape well enough.
  void enough(const wire::Fields& fields);

  // Measures in this group from here on, whatever it takes; until suspended, or closed: what there
  // is is sent.
  bool begin(Context& context, int group);
  void suspend(Context& context);
  void close(Context& context);
  void send_old(Context& context);
  std::uint32_t first_batch(const wire::CollectGroup& group) const;
  void prepare(Context& context, int group);
  bool enable(Context& context);
  void disable(Context& context);
  void configure(Context& context, int group);
  void start(Context& context);
  void stop(Context& context);
  void grow(Context& context);
  void send(Context& context, std::uint64_t dropped);
  void send(const Context& context, std::uint32_t group, wire::CounterData& data);
  // All launches of a first run.
  void list(Context& context, const CUpti_CallbackData& call, const Launch& launch);
  void send_list(Context& context);
  // Images between passes that different runs make.
  std::string image_file(const Context& context, std::uint32_t pass) const;
  void compare_passes(Context& context);
  void load_image(Context& context);
  bool save_image(Context& context);
  bool call(Context& context, CUptiResult result, const char* what);
  void fail(Context& context, std::string why);
  std::int64_t cupti_now();
  std::uint32_t stream_id(const Context& context, const Launch& launch);
  std::uint32_t name_index(Context& context, const char* name);
  bool wants_range(const char* message);
  // All under ranges_mutex_ but join_range.
  void begin_range(const char* name);
  Context* join_range(CUcontext handle);
  void push_range(Context& context);
  void end_range();

  CheckedApi& cupti_;
  Channel& channel_;
  const wire::CollectConfig config_;
  const std::function<void(std::string_view, std::string_view)> tell_;
  Questions questions_;
  std::vector<std::atomic<std::uint64_t>> seen_;  // launches that fit, by scope

  std::shared_mutex contexts_mutex_;
  std::vector<std::unique_ptr<Context>> contexts_;  // never taken out: callbacks keep pointers
  std::mutex ranges_mutex_;                         // range mode: guards the next
  std::map<std::thread::id, std::vector<bool>> open_ranges_;  // of NVTX push: which are measured
  std::string range_name_;
  std::uint64_t ranges_seen_ = 0;
  std::atomic<std::uint64_t> open_range_{0};  // the number of the one being measured; 0: none

  std::atomic<int> captures_{0};  // streams being captured
  std::atomic<bool> off_{false};  // nothing is measured any more
  std::atomic<bool> initialized_{false};
  std::atomic<std::int64_t> began_ns_{0};  // multiplex: at the first launch, steady clock
  std::atomic<std::int64_t> spent_ns_{0};  // on measuring
  std::atomic<double> first_cost_us_;      // multiplex: of a profiler object's first Start

  struct Counts {
    std::atomic<std::uint64_t> launches{0}, ranges{0}, dropped{0}, graph{0}, excluded{0},
        capture{0}, failed{0}, unanswered{0};
  };
  Counts counts_;
};

}  // namespace gpuprof::collect
