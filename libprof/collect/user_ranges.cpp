// Ranges of the target's own: NVTX push and pop, or cudaProfilerStart and Stop.
#include <generated_nvtx_meta.h>

#include <utility>

#include "libprof/collect/range_context.hpp"

namespace gpuprof::collect {
namespace {

constexpr CUpti_CallbackId nvtx[] = {
    CUPTI_CBID_NVTX_nvtxRangePushA,     CUPTI_CBID_NVTX_nvtxRangePushEx,
    CUPTI_CBID_NVTX_nvtxRangePop,       CUPTI_CBID_NVTX_nvtxDomainRangePushEx,
    CUPTI_CBID_NVTX_nvtxDomainRangePop,
};

}  // namespace

std::span<const CUpti_CallbackId> RangeProfiler::nvtx_calls() { return nvtx; }

bool RangeProfiler::wants_nvtx() const {
  return config_.mode == wire::ReplayMode::range && config_.ranges != wire::NvtxRanges::none;
}

void RangeProfiler::nvtx_call(CUpti_CallbackId id, const CUpti_NvtxData& call) {
  const char* message = nullptr;
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop: {
      const std::lock_guard lock(ranges_mutex_);
      std::vector<bool>& open = open_ranges_[std::this_thread::get_id()];
      if (open.empty()) return;
      const bool measured = open.back();
      open.pop_back();
      if (measured) end_range();
      return;
    }
    case CUPTI_CBID_NVTX_nvtxRangePushA:
      message = static_cast<const nvtxRangePushA_params*>(call.functionParams)->message;
      break;
    case CUPTI_CBID_NVTX_nvtxRangePushEx: {
      const auto* event =
          static_cast<const nvtxRangePushEx_params*>(call.functionParams)->eventAttrib;
      if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII) message = event->message.ascii;
      break;
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
      const auto* event =
          static_cast<const nvtxDomainRangePushEx_params*>(call.functionParams)->core.eventAttrib;
      if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII) message = event->message.ascii;
      break;
    }
    default: return;
  }
  // One range at a time: what lies inside a measured one is part of it.
  const bool wanted = open_range_.load() == 0 && message && wants_range(message);
  const std::lock_guard lock(ranges_mutex_);
  const bool measured = wanted && open_range_.load() == 0;
  open_ranges_[std::this_thread::get_id()].push_back(measured);
  if (measured) begin_range(message);
}

bool RangeProfiler::wants_range(const char* message) {
  if (config_.ranges == wire::NvtxRanges::all) return true;
  const Questions::Answer answer = questions_.range(message);
  if (!answer) counts_.unanswered.fetch_add(1, std::memory_order_relaxed);
  return answer && answer->integer("fits") != 0;
}

void RangeProfiler::profiler_window(bool begins) {
  if (config_.mode != wire::ReplayMode::range || config_.ranges != wire::NvtxRanges::none) return;
  const std::lock_guard lock(ranges_mutex_);
  const bool open = open_range_.load() != 0;
  if (begins && !open) begin_range("cudaProfilerStart");
  if (!begins && open) end_range();
}

std::int64_t RangeProfiler::cupti_now() {
  std::uint64_t now = 0;
  cupti_.try_("cuptiGetTimestamp", cupti_.cuptiGetTimestamp(&now));
  return static_cast<std::int64_t>(now);
}

// In all contexts there are. Under ranges_mutex_.
void RangeProfiler::begin_range(const char* name) {
  range_name_ = name;
  open_range_.store(++ranges_seen_);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) push_range(*context);
}

// A context that came into being inside the range takes part from its first launch on.
RangeProfiler::Context* RangeProfiler::join_range(CUcontext handle) {
  Context* context = find(handle);
  if (!context || context->range.load() == open_range_.load()) return context;
  const std::lock_guard lock(ranges_mutex_);
  if (open_range_.load() != 0) push_range(*context);
  return context;
}

// Under ranges_mutex_.
void RangeProfiler::push_range(Context& context) {
  if (off_.load() || context.dead.load() || context.failed.load()) return;
  const std::lock_guard guard(context.mutex);
  const std::uint64_t range = open_range_.load();
  if (context.range.exchange(range) == range) return;
  const int group = group_of_scope(context, 0);
  if (group < 0 || !begin(context, group)) return;
  // Ranges of one name would become one: the number tells them apart.
  const std::string unique = std::to_string(range);
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PushRange_Params);
  params.pRangeProfilerObject = context.object;
  params.pRangeName = unique.c_str();
  if (!call(context, cupti_.cuptiRangeProfilerPushRange(&params), "cuptiRangeProfilerPushRange")) {
    return;
  }
  context.pushed = true;
  context.had_graph.store(false);
  context.launching = {};
  context.launching.kind = wire::RangeKind::range;
  context.launching.ordinal = range;
  context.launching.name = name_index(context, range_name_.c_str());
  context.launching.start = cupti_now();
}

// Under ranges_mutex_.
void RangeProfiler::end_range() {
  open_range_.store(0);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& one : contexts_) {
    Context& context = *one;
    if (context.dead.load() || context.failed.load()) continue;
    const std::lock_guard guard(context.mutex);
    if (!std::exchange(context.pushed, false)) continue;
    auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    params.pRangeProfilerObject = context.object;
    const Busy busy(context, "cuptiRangeProfilerPopRange");
    if (!call(context, cupti_.cuptiRangeProfilerPopRange(&params), "cuptiRangeProfilerPopRange")) {
      continue;
    }
    context.launching.end = cupti_now();
    if (group_of(context).patched && context.had_graph.load()) {
      context.launching.note = graphs_left_out;
    }
    context.rows.push_back(context.launching);
    if (context.rows.size() >= context.batch) close(context);
  }
}

}  // namespace gpuprof::collect
