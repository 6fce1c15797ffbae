#include "libprof/collect/range_profiler.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "libprof/collect/driver.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "libprof/collect/launch.hpp"
#include "libprof/collect/profiler_calls.hpp"
#include "libprof/cupti/first_start.hpp"

namespace gpuprof::collect {
namespace {

// How long the end of a context waits for a launch in it.
constexpr std::chrono::seconds end_patience{1};
// After this time, launches already under way before our first callback are done.
constexpr std::chrono::milliseconds launch_time{2};
constexpr std::chrono::seconds capture_patience{5};  // at the end, for captures into graphs

// The context whose lock this thread holds during a launch, or null.
thread_local RangeContext* launching = nullptr;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

RangeProfiler::RangeProfiler(CheckedApi& cupti, Channel& channel, const wire::CollectConfig& config,
                             std::function<void(std::string_view, std::string_view)> tell)
    : number_(next_number()),
      measuring_{cupti, channel, config, std::move(tell),
                 Budget(&now_ns, cupti::first_start_us + cupti::first_start_range_us * config.batch,
                        config.overhead_permille)},
      questions_(channel),
      selection_(measuring_.config, questions_) {}

// --- contexts

RangeContext* RangeProfiler::find(CUcontext handle) {
  // A thread usually launches into one context.
  thread_local RangeContext* last = nullptr;
  thread_local std::uint64_t owner = 0;
  if (last && owner == number_ && last->handle == handle && !last->dead.load()) return last;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->handle == handle && !context->dead.load()) {
      owner = number_;
      return last = context.get();
    }
  }
  return nullptr;
}

// A launch that we were not notified of would become a range of CUPTI's in the first window. If one
// takes longer than this wait, there is one range too many, and that window has no values.
void RangeProfiler::begin(const std::vector<CUcontext>& contexts) {
  if (!contexts.empty()) std::this_thread::sleep_for(launch_time);
  for (const CUcontext context : contexts) context_created(context);
  begun_.store(true);
}

void RangeProfiler::context_created(CUcontext handle) {
  const std::unique_lock lock(contexts_mutex_);
  const bool known = std::ranges::any_of(
      contexts_, [&](const auto& one) { return one->handle == handle && !one->dead.load(); });
  if (known) return;
  const std::uint32_t device = device_of(measuring_.cupti, handle);
  // Numbered per device: threads that each use one device create their contexts in any order.
  const auto before =
      std::ranges::count(contexts_, device, [](const auto& one) { return one->device; });
  contexts_.push_back(std::make_unique<RangeContext>(
      measuring_, handle, device, device << 16 | static_cast<std::uint32_t>(before)));
  live_contexts_.fetch_add(1);
}

void RangeProfiler::context_ends(CUcontext handle) {
  RangeContext* context = find(handle);
  if (!context) return;
  const std::unique_lock lock(context->mutex, end_patience);
  if (lock) context->send_list();
  if (lock && !context->failed()) {
    context->close();
    context->release();
  }
  context->dead.store(true);
  live_contexts_.fetch_sub(1);
}

void RangeProfiler::finish() {
  end_open_range();
  for_each_idle([this](RangeContext& context) { close(context); });
  off_.store(true);
}

bool RangeProfiler::leave() {
  const auto until = std::chrono::steady_clock::now() + capture_patience;
  while (captures_.any() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end_open_range();
  bool captured = false;
  const bool all = for_each_idle([&](RangeContext& context) {
    // One that begins now waits for the context's lock.
    if (captures_.any()) return void(captured = true);
    close(context);
    context.leave();
  });
  off_.store(true);
  return all && !captured;
}

void RangeProfiler::end_open_range() {
  const std::lock_guard lock(ranges_mutex_);
  if (ranges_.end()) end_range();
}

// Launches are measured until there is no window left for them.
void RangeProfiler::close(RangeContext& context) {
  context.send_list();
  if (!context.failed()) context.close();
  context.over = true;
}

bool RangeProfiler::for_each_idle(const std::function<void(RangeContext&)>& f) {
  bool all = true;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->dead.load()) continue;
    const std::unique_lock one(context->mutex, end_patience);
    one ? f(*context) : void(all = false);
  }
  return all;
}

// --- launches

void RangeProfiler::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (captures_.take(id, call, [this] { suspend_all(); })) return;
  if (measuring_.green.take(id, call)) return;
  call.callbackSite == CUPTI_API_ENTER ? enter(id, call) : exit(call);
}

// Neither Start nor Stop may happen during a stream capture: they would break it.
void RangeProfiler::suspend_all() {
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->dead.load()) continue;
    const std::unique_lock one(context->mutex, end_patience);
    if (one) context->suspend();
  }
}

void RangeProfiler::enter(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  *call.correlationData = 0;
  if (!begun_.load()) return;
  if (user_ranges()) {
    if (ranges_.open() == 0) return;
    RangeContext* const context = join_range(call.context);
    if (context && is_graph_launch(id)) context->had_graph.store(true, std::memory_order_relaxed);
    return;
  }
  Measuring::Counts& counts = measuring_.counts;
  // Later runs are joined with all launches of the first, including those that it cannot measure.
  const bool list = measuring_.config.list_launches;
  const bool off = off_.load(std::memory_order_relaxed);
  if (off && !list) return;
  if (!off) counts.launches.fetch_add(1, std::memory_order_relaxed);
  RangeContext* const found = find(measured_in(call.context));
  const bool failed = !found || found->failed();
  if (failed && !off) counts.failed.fetch_add(1, std::memory_order_relaxed);
  if (!found || (failed && !list)) return;
  RangeContext& context = *found;
  std::unique_lock lock(context.mutex, std::defer_lock);
  if (!lock.try_lock_for(std::chrono::milliseconds(measuring_.config.hang_ms))) {
    // Another thread's launch does not return, perhaps because it waits for this one.
    context.overlapped.store(true);
    return;
  }
  context.launched();
  const bool captured = captures_.any();
  if (captured && !off && !failed) counts.capture.fetch_add(1, std::memory_order_relaxed);
  if (captured) return;
  const Launch launch(id, call);
  if (list) context.list(launch, call.correlationId);
  if (off || failed || context.over || !measure(context, launch, call.correlationId)) return;
  *call.correlationData = reinterpret_cast<std::uint64_t>(&context);
  launching = &context;
  lock.release();  // until the call returns
}

bool RangeProfiler::measure(RangeContext& context, const Launch& launch,
                            std::uint32_t correlation) {
  Measuring::Counts& counts = measuring_.counts;
  const auto leave_out = [&](std::atomic<std::uint64_t>& why) {
    why.fetch_add(1, std::memory_order_relaxed);
    context.suspend();
    return false;
  };
  // An auto range session does not survive a graph launch (measured).
  if (launch.graph) return leave_out(counts.graph);
  Shape& shape = selection_.shape_of(context.shapes(), launch);
  if (!shape.known) {
    const std::int64_t began = now_ns();
    selection_.learn(context.shapes(), launch, shape, live_contexts_.load() > 1);
    measuring_.budget.spend(now_ns() - began);
  }
  ++shape.launches;
  // Nobody has said whether it may be measured.
  if (!shape.known) return leave_out(selection_.unanswered());
  if (shape.may_hang) return leave_out(counts.excluded);
  const Decision decision = decide(context, launch, shape);
  if (decision.release) context.release();
  const GreenContexts::Part part = part_of(context, launch, decision.group);
  if (decision.group >= 0) {
    if (!release_others(context) || !context.begin(decision.group)) {
      counts.failed.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } else if (context.open() && context.policy().leaves(context.group())) {
    context.suspend();
  }
  if (!context.open()) return false;
  context.launch_begins(launch, correlation, shape, decision.group >= 0,
                        part ? part : measuring_.green.part(context.handle));
  return true;
}

// Where a green context is current, launches belong to that one for the range profiler (seen with
// 13.5), though callbacks name the context that it was made from.
CUcontext RangeProfiler::measured_in(CUcontext context) const {
  if (!measuring_.green.any()) return context;
  const CUcontext current = current_context();
  return measuring_.green.is_one(current) ? current : context;
}

GreenContexts::Part RangeProfiler::part_of(RangeContext& context, const Launch& launch, int group) {
  const CUcontext green = measuring_.green.of(launch.stream);
  if (!green || green == context.handle) return nullptr;
  if (group >= 0 && !measuring_.green.part(green) && release_others(context)) {
    context.learn_part(green, id_of(measuring_.cupti, green), group);
  }
  return measuring_.green.part(green);
}

// Programs switch between green contexts all the time, and between other contexts hardly ever: only
// for those does one make room for another.
bool RangeProfiler::release_others(const RangeContext& context) {
  if (!measuring_.green.any() || context.window().enabled) return true;
  bool free = true;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& other : contexts_) {
    if (other.get() == &context || other->device != context.device || other->dead.load()) continue;
    const std::unique_lock one(other->mutex, std::try_to_lock);
    one ? other->release() : void(free = false);
  }
  return free;
}

Decision RangeProfiler::decide(RangeContext& context, const Launch& launch, const Shape& shape) {
  Policy& policy = context.policy();
  const bool lacks_passes = context.lacks_passes();
  Decision decision;
  selection_.for_each_scope(
      context.shapes(), shape, [&] { return context.stream_id(launch); },
      [&](std::uint32_t scope) {
        decision = lacks_passes ? context.next_pass(shape)
                                : policy.decide(scope, shape.samples, context.window());
        return decision.group >= 0 || policy.decides_for_all_scopes();
      });
  return decision;
}

void RangeProfiler::exit(const CUpti_CallbackData& call) {
  auto* const context = reinterpret_cast<RangeContext*>(*call.correlationData);
  // Undefined for a call that began before we listened.
  if (!context || context != launching) return;
  launching = nullptr;
  const std::unique_lock lock(context->mutex, std::adopt_lock);
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  // Once something hung, further launches are no longer recorded, and CUPTI must not count them
  // either.
  context->launch_ends(!result || *result == CUDA_SUCCESS, off_.load(std::memory_order_relaxed));
}

// --- the program's own ranges

bool RangeProfiler::wants_nvtx() const {
  return user_ranges() && measuring_.config.ranges != wire::NvtxRanges::none;
}

void RangeProfiler::nvtx_push(const char* message) {
  // This may ask the launcher, which must not be done under the lock.
  const bool wanted = ranges_.open() == 0 && message && selection_.wants_range(message);
  const std::lock_guard lock(ranges_mutex_);
  if (ranges_.push(std::this_thread::get_id(), wanted)) begin_range(message);
}

void RangeProfiler::nvtx_pop() {
  const std::lock_guard lock(ranges_mutex_);
  if (ranges_.pop(std::this_thread::get_id())) end_range();
}

void RangeProfiler::profiler_window(bool begins) {
  if (!user_ranges() || wants_nvtx()) return;
  const std::lock_guard lock(ranges_mutex_);
  if (begins && ranges_.begin()) begin_range("cudaProfilerStart");
  if (!begins && !own_range_ && ranges_.end()) end_range();
}

std::uint64_t RangeProfiler::begin_own_range(const char* name) {
  const std::lock_guard lock(ranges_mutex_);
  if (!user_ranges() || !ranges_.begin()) return 0;
  own_range_ = true;
  begin_range(name);
  return ranges_.open();
}

void RangeProfiler::end_own_range() {
  const std::lock_guard lock(ranges_mutex_);
  if (std::exchange(own_range_, false) && ranges_.end()) end_range();
}

// In all existing contexts.
void RangeProfiler::begin_range(const char* name) {
  range_name_ = name;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) push_range(*context);
}

// A context created inside the range takes part from its first launch on.
RangeContext* RangeProfiler::join_range(CUcontext handle) {
  RangeContext* context = find(handle);
  if (!context || context->range.load() == ranges_.open()) return context;
  const std::lock_guard lock(ranges_mutex_);
  if (ranges_.open() != 0) push_range(*context);
  return context;
}

// A green context's work is part of the range of the context that it was made from.
void RangeProfiler::push_range(RangeContext& context) {
  if (off_.load() || context.dead.load() || context.failed()) return;
  if (measuring_.green.is_one(context.handle)) return;
  const std::lock_guard guard(context.mutex);
  const std::uint64_t range = ranges_.open();
  if (context.over) return;
  if (context.range.exchange(range) != range) context.range_begins(range, range_name_.c_str());
}

void RangeProfiler::end_range() {
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->dead.load() || context->failed()) continue;
    const std::lock_guard guard(context->mutex);
    context->range_ends();
  }
}

// --- the launcher

bool RangeProfiler::listen(int timeout_ms, wire::Frame& frame) {
  if (!questions_.receive(frame, timeout_ms)) return false;
  const wire::Fields fields = wire::Decoder(frame.payload()).fields();
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->id != fields.integer("context", -1)) continue;
    const std::lock_guard one(context->mutex);
    selection_.enough(context->shapes(), fields);
  }
  return true;
}

// --- watching

void RangeProfiler::watch() {
  if (off_.load()) return;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    const std::int64_t since = context->watch.since();
    if (since == 0) {
      // Results must not wait for more for too long: the target may be killed.
      const std::unique_lock one(context->mutex, std::try_to_lock);
      if (!one || context->dead.load()) continue;
      context->send_list();
      if (!captures_.any()) context->send_old();
      continue;
    }
    if (now_ns() - since < std::int64_t{measuring_.config.hang_ms} * 1'000'000) continue;
    const char* what = context->watch.with();
    if (!off_.exchange(true)) measuring_.tell("metrics_hang", what ? what : "");
    return;
  }
}

std::vector<wire::Statistic> RangeProfiler::statistics() const {
  const Measuring::Counts& counts = measuring_.counts;
  std::vector<wire::Statistic> all;
  const auto add = [&](schema::StatisticName name, std::uint64_t value, bool always = false) {
    if (value > 0 || always) all.push_back({"", name, value});
  };
  add("metrics_launches", counts.launches.load(), true);
  add("metrics_ranges", counts.ranges.load(), true);
  add("metrics_ranges_dropped", counts.dropped.load());
  add("metrics_skipped_graph", counts.graph.load());
  add("metrics_skipped_excluded", counts.excluded.load());
  add("metrics_skipped_capture", counts.capture.load());
  add("metrics_skipped_failed", counts.failed.load());
  add("metrics_skipped_unanswered", selection_.unanswered().load());
  const std::int64_t permille = measuring_.budget.spent_permille();
  if (measuring_.config.mode == wire::ReplayMode::multiplex && permille >= 0) {
    add("metrics_overhead_permille", static_cast<std::uint64_t>(permille), true);
  }
  return all;
}

}  // namespace gpuprof::collect
