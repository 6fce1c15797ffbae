#include "libprof/collect/range_profiler.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "libprof/collect/driver_calls.hpp"
#include "libprof/collect/range_context.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::int64_t callback_ns = 500;  // of a launch that is not measured (measured)

// The place of a name in a list, from 1, where it is put if it is new; 0 for none.
std::uint32_t number_of(const char* name, std::vector<std::string>& names,
                        std::unordered_map<std::string, std::uint32_t>& numbers) {
  if (!name) return 0;
  const auto [entry, fresh] = numbers.try_emplace(name, 0);
  if (fresh) {
    names.emplace_back(name);
    entry->second = static_cast<std::uint32_t>(names.size());
  }
  return entry->second;
}

}  // namespace

// What a callback says of a launch.
struct RangeProfiler::Launch {
  const char* symbol = nullptr;
  CUstream stream = nullptr;
  bool per_thread_stream = false;
  bool cooperative = false;
  bool graph = false;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};

  Launch(CUpti_CallbackId id, const CUpti_CallbackData& call) : symbol(call.symbolName) {
    switch (id) {
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        per_thread_stream = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel: {
        // All of these begin with the same members.
        const auto& params = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
        set(params);
        stream = params.hStream;
        cooperative = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
                      id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
        break;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: per_thread_stream = true; [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const auto* config =
            static_cast<const cuLaunchKernelEx_params*>(call.functionParams)->config;
        if (!config) break;
        set(*config);
        stream = config->hStream;
        for (unsigned i = 0; i < config->numAttrs; ++i) {
          const CUlaunchAttribute& attribute = config->attrs[i];
          cooperative |=
              attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0;
        }
        break;
      }
      default: graph = true;
    }
  }

 private:
  template <class Dimensions>
  void set(const Dimensions& from) {
    grid[0] = from.gridDimX, grid[1] = from.gridDimY, grid[2] = from.gridDimZ;
    block[0] = from.blockDimX, block[1] = from.blockDimY, block[2] = from.blockDimZ;
  }
};

RangeProfiler::RangeProfiler(CheckedApi& cupti, Channel& channel, wire::CollectConfig config,
                             std::function<void(std::string_view, std::string_view)> tell)
    : cupti_(cupti),
      channel_(channel),
      config_(std::move(config)),
      tell_(std::move(tell)),
      questions_(channel),
      seen_(config_.scopes.size()),
      first_cost_us_(cupti::first_start_us + cupti::first_start_range_us * config_.batch) {}

RangeProfiler::~RangeProfiler() = default;

// --- contexts

RangeProfiler::Context* RangeProfiler::find(CUcontext handle) {
  // A thread mostly launches into one context.
  thread_local Context* last = nullptr;
  thread_local const RangeProfiler* owner = nullptr;
  if (last && owner == this && last->handle == handle && !last->dead.load()) return last;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->handle == handle && !context->dead.load()) {
      owner = this;
      return last = context.get();
    }
  }
  return nullptr;
}

void RangeProfiler::context_created(CUcontext handle) {
  const std::unique_lock lock(contexts_mutex_);
  std::uint32_t device = 0;
  if (cupti_.cuptiGetDeviceId) {
    cupti_.try_("cuptiGetDeviceId", cupti_.cuptiGetDeviceId(handle, &device));
  }
  // Threads of one device each make their contexts in any order.
  const auto before =
      std::ranges::count(contexts_, device, [](const auto& one) { return one->device; });
  auto context =
      std::make_unique<Context>(handle, device << 16 | static_cast<std::uint32_t>(before));
  context->device = device;
  if (cupti_.cuptiGetContextId) {
    cupti_.try_("cuptiGetContextId", cupti_.cuptiGetContextId(handle, &context->id));
  }
  if (cupti_.cuptiDeviceGetChipName) {
    auto params = GPUPROF_PARAMS(CUpti_Device_GetChipName_Params);
    params.deviceIndex = context->device;
    if (cupti_.try_("cuptiDeviceGetChipName", cupti_.cuptiDeviceGetChipName(&params)) &&
        params.pChipName) {
      context->chip = params.pChipName;
    }
  }
  contexts_.push_back(std::move(context));
}

void RangeProfiler::context_ends(CUcontext handle) {
  Context* context = find(handle);
  if (!context) return;
  const std::unique_lock lock(context->mutex, std::chrono::seconds(1));
  if (lock) send_list(*context);
  if (lock && !context->failed.load()) {
    close(*context);
    disable(*context);
  }
  context->dead.store(true);
}

void RangeProfiler::finish() {
  {
    const std::lock_guard lock(ranges_mutex_);
    if (open_range_.load() != 0) end_range();
  }
  off_.store(true);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->dead.load()) continue;
    const std::unique_lock one(context->mutex, std::chrono::seconds(1));
    if (!one) continue;
    send_list(*context);
    if (!context->failed.load()) close(*context);
  }
}

// --- launches

void RangeProfiler::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  const Capture capture = capture_of(id);
  if (capture == Capture::none) {
    enters ? enter(id, call) : exit(call);
    return;
  }
  // Neither Start nor Stop may come while a stream is captured: they would break the capture.
  if (capture == Capture::begins && enters) {
    const std::shared_lock lock(contexts_mutex_);
    for (const auto& context : contexts_) {
      if (context->dead.load()) continue;
      const std::unique_lock one(context->mutex, std::chrono::seconds(1));
      if (one) suspend(*context);
    }
  }
  if (enters == (capture == Capture::begins)) {
    captures_.fetch_add(capture == Capture::begins ? 1 : -1);
  }
  if (capture == Capture::begins && !enters &&
      *static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) {
    captures_.fetch_sub(1);
  }
}

void RangeProfiler::enter(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  *call.correlationData = 0;
  if (config_.mode == wire::ReplayMode::range) {
    if (open_range_.load(std::memory_order_relaxed) == 0) return;
    Context* const context = join_range(call.context);
    if (context && is_graph_launch(id)) context->had_graph.store(true, std::memory_order_relaxed);
    return;
  }
  // Later runs are joined with all launches of the first, also with those that it cannot measure.
  const bool off = off_.load(std::memory_order_relaxed);
  if (off && !config_.list_launches) return;
  if (!off) counts_.launches.fetch_add(1, std::memory_order_relaxed);
  Context* found = find(call.context);
  const bool failed = !found || found->failed.load(std::memory_order_relaxed);
  if (failed && !off) counts_.failed.fetch_add(1, std::memory_order_relaxed);
  if (!found || (failed && !config_.list_launches)) return;
  Context& context = *found;
  std::unique_lock lock(context.mutex, std::defer_lock);
  if (!lock.try_lock_for(std::chrono::milliseconds(config_.hang_ms))) {
    // Another thread's launch does not come back, maybe because it waits for this one.
    context.overlapped.store(true);
    return;
  }
  ++context.ordinal;
  if (config_.mode == wire::ReplayMode::multiplex) {
    spent_ns_.fetch_add(callback_ns, std::memory_order_relaxed);
  }
  const bool captured = captures_.load(std::memory_order_relaxed) > 0;
  if (captured && !off && !failed) counts_.capture.fetch_add(1, std::memory_order_relaxed);
  if (captured) return;
  const Launch launch(id, call);
  if (config_.list_launches) list(context, call, launch);
  if (off || failed) return;
  if (launch.graph) {
    // An auto range session does not survive a graph launch (measured).
    counts_.graph.fetch_add(1, std::memory_order_relaxed);
    suspend(context);
    return;
  }
  Shape& shape = shape_of(context, launch);
  ++shape.launches;
  if (!shape.known) {
    // Whether it may be measured, nobody has said.
    counts_.unanswered.fetch_add(1, std::memory_order_relaxed);
    suspend(context);
    return;
  }
  if (shape.may_hang) {
    counts_.excluded.fetch_add(1, std::memory_order_relaxed);
    suspend(context);
    return;
  }
  const int group = group_for(context, launch, shape);
  if (group >= 0) {
    if (!begin(context, group)) {
      counts_.failed.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    context.wasted_us = 0;
  } else if (context.started) {
    // To measure and throw away, or to stop and start again: whichever was cheaper so far.
    const wire::CollectGroup& current = group_of(context);
    context.wasted_us += current.launch_us;
    if (config_.mode == wire::ReplayMode::kernel || context.wasted_us > current.switch_us) {
      suspend(context);
    }
  }
  if (!context.started) return;

  wire::MeasuredRange& row = context.launching = {};
  row.ordinal = context.ordinal;
  row.correlation = call.correlationId;
  row.kind = wire::RangeKind::kernel;
  row.wanted =
      group >= 0 || (config_.mode == wire::ReplayMode::multiplex &&
                     shape.samples[static_cast<std::size_t>(context.group)] < config_.samples);
  std::copy_n(launch.grid, 3, row.grid);
  std::copy_n(launch.block, 3, row.block);
  row.name = name_index(context, launch.symbol);
  row.stream = stream_id(context, launch);
  context.shape = &shape;
  context.busy_with.store(launch.symbol, std::memory_order_relaxed);
  context.busy_since.store(now_ns(), std::memory_order_release);
  *call.correlationData = reinterpret_cast<std::uint64_t>(&context);
  lock.release();  // until the call returns
}

void RangeProfiler::exit(const CUpti_CallbackData& call) {
  auto* const found = reinterpret_cast<Context*>(*call.correlationData);
  if (!found) return;
  Context& context = *found;
  const std::unique_lock lock(context.mutex, std::adopt_lock);
  const std::int64_t since = context.busy_since.exchange(0);
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  if (result && *result != CUDA_SUCCESS) return;  // no launch, no range
  if (context.rows.empty()) context.first_row_ns = now_ns();
  context.rows.push_back(context.launching);
  if (config_.mode == wire::ReplayMode::multiplex) {
    const wire::CollectGroup& group = group_of(context);
    const std::int64_t took =
        std::max(now_ns() - since, static_cast<std::int64_t>(group.launch_us * 1000));
    spent_ns_.fetch_add(took, std::memory_order_relaxed);
    context.phase_spent_ns += took;
    ++context.shape->samples[static_cast<std::size_t>(context.group)];
  }
  // Once something hung, what comes is not noted any more, and CUPTI must not count it either.
  if (context.rows.size() >= context.batch || off_.load(std::memory_order_relaxed)) close(context);
}

RangeProfiler::Shape& RangeProfiler::shape_of(Context& context, const Launch& launch) {
  Context::ShapeKey key{launch.symbol, {}};
  std::copy_n(launch.grid, 3, key.size.begin());
  std::copy_n(launch.block, 3, key.size.begin() + 3);
  Shape& shape = context.shapes[key];
  if (shape.samples.empty()) shape.samples.resize(config_.groups.size());
  if (!shape.known) learn(context, launch, shape);
  return shape;
}

void RangeProfiler::learn(Context& context, const Launch& launch, Shape& shape) {
  const char* symbol = launch.symbol ? launch.symbol : "";
  Questions::Answer answer;
  if (config_.names_matter || std::strstr(symbol, "nccl")) {
    const std::int64_t began = now_ns();
    answer = questions_.kernel(symbol);
    spent_ns_.fetch_add(now_ns() - began, std::memory_order_relaxed);
    if (!answer) return;
  }
  // Kernels that wait for one another hang where each runs alone: always under kernel replay, and
  // when one thread drives several GPUs.
  const bool waits = answer && answer->integer("waits") != 0;
  bool alone = config_.mode == wire::ReplayMode::kernel;
  if (waits && !alone) {
    const std::shared_lock lock(contexts_mutex_);
    alone = std::ranges::count_if(contexts_, [](const auto& one) { return !one->dead.load(); }) > 1;
  }
  shape.may_hang =
      (alone && (waits || (config_.mode == wire::ReplayMode::kernel && launch.cooperative))) ||
      (answer && answer->integer("left_out") != 0);
  std::vector<bool> named(config_.scopes.size(), !answer);
  if (answer) {
    for (const std::uint32_t scope : answer->numbers("scopes")) {
      if (scope < named.size()) named[scope] = true;
    }
  }
  std::vector<bool> fitting;
  for (std::uint32_t i = 0; i < config_.scopes.size(); ++i) {
    const wire::CollectScope& scope = config_.scopes[i];
    const bool device = scope.devices.empty() ||
                        std::ranges::find(scope.devices, context.device) != scope.devices.end();
    bool fits = device && named[i];
    if (fits && scope.contexts) {
      const auto in_context = takes_number(context, i, "context", context.id);
      if (!in_context) return;
      fits = *in_context;
    }
    fitting.push_back(fits);
  }
  shape.scopes = std::move(fitting);
  shape.known = true;
}

std::optional<bool> RangeProfiler::takes_number(Context& context, std::uint32_t scope,
                                                const char* what, std::uint64_t number) {
  constexpr std::size_t most_blocks = 1024;  // of half a KiB
  const std::uint64_t block = number / wire::numbers_per_block;
  if (block > wire::last_number_block) return std::nullopt;
  if (context.numbers.size() > most_blocks) context.numbers.clear();
  auto& known = context.numbers[{scope, *what, static_cast<std::uint32_t>(block)}];
  if (!known) known = questions_.numbers(scope, what, static_cast<std::uint32_t>(block));
  if (!known) return std::nullopt;
  const std::string_view bits = known->text("fits");
  const std::size_t place = number % wire::numbers_per_block;
  return place / 8 < bits.size() && (bits[place / 8] >> place % 8 & 1) != 0;
}

int RangeProfiler::group_of_scope(const Context& context, std::uint32_t scope) const {
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    if (config_.groups[i].scope == scope && config_.groups[i].chip == context.chip) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int RangeProfiler::group_for(Context& context, const Launch& launch, Shape& shape) {
  for (std::uint32_t i = 0; i < config_.scopes.size(); ++i) {
    if (!shape.scopes[i]) continue;
    const wire::CollectScope& scope = config_.scopes[i];
    const auto takes = [&](const char* what, std::uint64_t number) {
      const auto fits = takes_number(context, i, what, number);
      if (!fits) counts_.unanswered.fetch_add(1, std::memory_order_relaxed);
      return fits.value_or(false);
    };
    if (scope.streams && !takes("stream", stream_id(context, launch))) continue;
    if (scope.invocations && !takes("invocation", shape.launches)) continue;
    const std::uint64_t place = seen_[i].fetch_add(1);
    if (place < scope.skip || (scope.count > 0 && place >= scope.skip + scope.count)) continue;
    if (config_.mode == wire::ReplayMode::multiplex) {
      return multiplex_wants(context, shape) ? context.group : -1;
    }
    const int group = group_of_scope(context, i);
    if (group >= 0) return group;
  }
  return -1;
}

std::uint32_t RangeProfiler::stream_id(const Context& context, const Launch& launch) {
  std::uint32_t id = 0;
  if (cupti_.cuptiGetStreamIdEx) {
    cupti_.try_("cuptiGetStreamIdEx", cupti_.cuptiGetStreamIdEx(context.handle, launch.stream,
                                                                launch.per_thread_stream, &id));
  }
  return id;
}

std::uint32_t RangeProfiler::name_index(Context& context, const char* name) {
  return number_of(name, context.names, context.name_numbers);
}

// --- joining runs

void RangeProfiler::list(Context& context, const CUpti_CallbackData& call, const Launch& launch) {
  constexpr std::size_t most = 4096;
  wire::MeasuredRange& row = context.list.ranges.emplace_back();
  row.ordinal = context.ordinal;
  row.correlation = call.correlationId;
  row.kind = launch.graph ? wire::RangeKind::graph : wire::RangeKind::kernel;
  std::copy_n(launch.grid, 3, row.grid);
  std::copy_n(launch.block, 3, row.block);
  row.name = number_of(launch.symbol, context.list.names, context.list_names);
  if (context.list.ranges.size() >= most) send_list(context);
}

void RangeProfiler::send_list(Context& context) {
  if (context.list.ranges.empty()) return;
  send(context, wire::launch_list, context.list);
  context.list = {};
  context.list_names.clear();
}

// --- the launcher

bool RangeProfiler::listen(int timeout_ms) {
  wire::Frame frame;
  if (!questions_.receive(frame, timeout_ms)) return false;
  enough(wire::Decoder(frame.payload()).fields());
  return true;
}

// --- watching

void RangeProfiler::watch() {
  if (off_.load()) return;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    const std::int64_t since = context->busy_since.load(std::memory_order_acquire);
    if (since == 0) send_old(*context);
    if (since == 0 || now_ns() - since < std::int64_t{config_.hang_ms} * 1'000'000) continue;
    const char* what = context->busy_with.load(std::memory_order_relaxed);
    if (off_.exchange(true)) return;
    tell_("metrics_hang", what ? what : "");
    return;
  }
}

// What is known is not to wait for more when that takes long: the target may be killed.
// Passes of several runs need the same windows in each.
void RangeProfiler::send_old(Context& context) {
  constexpr std::int64_t old_ns = 1'000'000'000;
  const std::unique_lock lock(context.mutex, std::try_to_lock);
  if (!lock || context.dead.load()) return;
  send_list(context);
  if (context.failed.load() || context.rows.empty()) return;
  if (now_ns() - context.first_row_ns < old_ns || captures_.load() > 0) return;
  const wire::CollectGroup& group = group_of(context);
  if (config_.mode == wire::ReplayMode::range ||
      (group.passes > 1 && config_.mode != wire::ReplayMode::kernel)) {
    return;
  }
  close(context);
}

std::vector<wire::Statistic> RangeProfiler::statistics() const {
  std::vector<wire::Statistic> all;
  const auto add = [&](schema::StatisticName name, std::uint64_t value, bool always = false) {
    if (value > 0 || always) all.push_back({"", name, value});
  };
  add("metrics_launches", counts_.launches.load(), true);
  add("metrics_ranges", counts_.ranges.load(), true);
  add("metrics_ranges_dropped", counts_.dropped.load());
  add("metrics_skipped_graph", counts_.graph.load());
  add("metrics_skipped_excluded", counts_.excluded.load());
  add("metrics_skipped_capture", counts_.capture.load());
  add("metrics_skipped_failed", counts_.failed.load());
  add("metrics_skipped_unanswered", counts_.unanswered.load());
  const std::int64_t elapsed = now_ns() - began_ns_.load();
  if (config_.mode == wire::ReplayMode::multiplex && elapsed > 0) {
    add("metrics_overhead_permille", static_cast<std::uint64_t>(spent_ns_.load() * 1000 / elapsed),
        true);
  }
  return all;
}

}  // namespace gpuprof::collect
