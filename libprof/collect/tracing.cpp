// Which kinds of activity CUPTI is told to trace, and when.
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "libprof/collect/collector.hpp"
#include "schema/activity/all.hpp"
#include "schema/query_calls.hpp"

namespace gpuprof::collect {

bool Collector::enable_all() {
  if (wants(schema::Runtime::info.id) || wants(schema::Driver::info.id)) find_queries();
  if (config_.integer("launch_calls_only", 0)) {
    packer_->want(CUPTI_ACTIVITY_KIND_DRIVER, false);
    packer_->want(CUPTI_ACTIVITY_KIND_RUNTIME, false);
  }
  const std::lock_guard lock(enabling_);
  for (const int kind : kinds_) {
    // Where things ran is needed whatever is collected, and told only once.
    const schema::KindRef* known = schema::find_kind(kind);
    if (known && known->info->group == schema::Group::topology) enable(kind);
  }
  if (config_.integer("from_start", 1)) enable_collection();
  return running();
}

// Everything that cudaProfilerStart and cudaProfilerStop turn on and off. Under enabling_.
void Collector::enable_collection() {
  for (const int kind : kinds_) enable(kind);
  if (config_.integer("launch_calls_only", 0)) trace_launch_calls(true);
}

namespace {

// CUPTI refuses these before the driver is up (measured: docs/measurements.md).
bool waits_for_driver(int kind) {
  return kind == schema::UnifiedMemoryCounter::info.id || kind == schema::Environment::info.id;
}

}  // namespace

bool Collector::enable(int kind) {
  const schema::KindRef* known = schema::find_kind(kind);
  if (!known) return false;
  if (enabled_.contains(kind)) return true;
  const schema::KindInfo* info = known->info;
  const auto unavailable = [&](const char* why) {
    tell("unavailable", std::string(info->table) + ": " + why);
    return false;
  };
  if (const char* why = why_not(kind)) return unavailable(why);
  CUptiResult result = CUPTI_SUCCESS;
  switch (info->source) {
    case schema::Source::ourselves:
    case schema::Source::with_other: return true;
    case schema::Source::enable_and_dump:
      result = cupti_.cuptiActivityEnableAndDump
                   ? cupti_.cuptiActivityEnableAndDump(cupti_kind(kind))
                   : cupti_.cuptiActivityEnable(cupti_kind(kind));
      // Before the driver is up there is nothing to dump; then plain enabling is what it takes.
      if (result != CUPTI_SUCCESS) result = cupti_.cuptiActivityEnable(cupti_kind(kind));
      break;
    case schema::Source::enable:
      if (waits_for_driver(kind) && !contexts_.any_seen()) {
        waiting_kinds_.push_back(kind);
        kinds_wait_.store(true);
        return true;
      }
      if (kind == schema::UnifiedMemoryCounter::info.id) configure_unified_memory();
      result = cupti_.cuptiActivityEnable(cupti_kind(kind));
      break;
  }
  if (result == CUPTI_SUCCESS) {
    enabled_.insert(kind);
    leave_out_calls(kind);
    return true;
  }
  // Older versions and some devices lack some kinds. The run goes on without, and says so.
  const char* text = "";
  cupti_.cuptiGetResultString(result, &text);
  return unavailable(text);
}

// Finds the functions that only ask by the names that this CUPTI gives them, and tells which those
// are. One that cannot tell, or cannot leave out single functions, traces them all.
void Collector::find_queries() {
  std::set<std::string_view> functions;
  const auto find = [&](CUpti_CallbackDomain domain, std::uint32_t size, auto leave_out,
                        std::vector<CUpti_CallbackId>& found) {
    if (!leave_out || !cupti_.cuptiGetCallbackName) return;
    for (std::uint32_t id = 1; id < size + newer_functions; ++id) {
      const char* name = nullptr;
      if (cupti_.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) continue;
      if (!schema::only_asks(name)) continue;
      found.push_back(id);
      functions.insert(schema::function_of(name));
    }
  };
  if (!config_.integer("queries", 1)) {
    find(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
         cupti_.cuptiActivityEnableRuntimeApi, runtime_queries_);
    find(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
         cupti_.cuptiActivityEnableDriverApi, driver_queries_);
  }
  std::string names;
  for (const std::string_view function : functions) {
    names.append(names.empty() ? "" : ",").append(function);
  }
  tell("calls_left_out", names.empty() ? "none" : names);
}

// After a kind was enabled: that overrides what was said of single functions.
void Collector::leave_out_calls(int kind) {
  if (kind == schema::Runtime::info.id) {
    for (const CUpti_CallbackId id : runtime_queries_) cupti_.cuptiActivityEnableRuntimeApi(id, 0);
  }
  if (kind == schema::Driver::info.id && cupti_.cuptiActivityEnableDriverApi) {
    // CUPTI asks the driver for the name of each kernel it sees launched. Not the target's call.
    cupti_.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuKernelGetName, 0);
    for (const CUpti_CallbackId id : driver_queries_) cupti_.cuptiActivityEnableDriverApi(id, 0);
  }
}

// Kinds that CUPTI has, and that spoil what is wanted more (measured: docs/measurements.md).
const char* Collector::why_not(int kind) const {
  if (serial_ && (kind == schema::Jit::info.id || kind == schema::MemDecompress::info.id)) {
    // 13.4 and 13.5 trace kernels one at a time beside these, but cannot be switched to it again.
    return "not while kernels are traced one at a time";
  }
  // Seen with 13.0 and 13.1; older ones are taken to do the same.
  if (metrics_ && kind == schema::Pcie::info.id && cupti_.version < 130200) {
    return "CUPTI before 13.2 does not measure beside it";
  }
  return nullptr;
}

// What CUPTI calls a kind.
CUpti_ActivityKind Collector::cupti_kind(int kind) const {
  if (is_kernel(static_cast<std::size_t>(kind))) {
    return serial_ && graph_launches_ == 0 ? CUPTI_ACTIVITY_KIND_KERNEL
                                           : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  }
  return static_cast<CUpti_ActivityKind>(kind);
}

// While CUPTI traces kernels one at a time, it has no times for those of a graph, and a graph
// launch ends all measuring for good. So they are traced as concurrent ones, which adds
// instructions to them; where they are part of what is measured, they are not traced at all
// (measured: docs/measurements.md).
void Collector::trace_graph_launch(bool enters) {
  if (exiting_.load()) return;
  const std::lock_guard lock(enabling_);
  const bool measured = metrics_ && metrics_->measures_a_range();
  const CUpti_ActivityKind before = cupti_kind(schema::Kernel::info.id);
  graph_launches_ += enters ? 1 : -1;
  const CUpti_ActivityKind now = cupti_kind(schema::Kernel::info.id);
  if (std::ranges::none_of(enabled_, is_kernel)) return;
  if (enters && measured) count(wire::Count::graphs_not_traced);
  if (now == before) return;
  cupti_.cuptiActivityDisable(before);
  if (enters && measured) return;
  if (cupti_.cuptiActivityEnable(now) != CUPTI_SUCCESS) {
    count(wire::Count::cupti_errors);
  }
}

void Collector::disable_collection() {
  if (config_.integer("launch_calls_only", 0)) trace_launch_calls(false);
  for (auto kind = enabled_.begin(); kind != enabled_.end();) {
    if (schema::find_kind(*kind)->info->group == schema::Group::topology) {
      ++kind;
      continue;
    }
    cupti_.cuptiActivityDisable(cupti_kind(*kind));
    kind = enabled_.erase(kind);
  }
}

// GPU work has a correlation id only while the call that asks for it is traced. So these calls are
// traced, and their rows left out.
void Collector::trace_launch_calls(bool on) {
  if (!cupti_.cuptiGetCallbackName || !cupti_.cuptiActivityEnableRuntimeApi ||
      !cupti_.cuptiActivityEnableDriverApi) {
    for (const auto kind : {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME}) {
      on ? cupti_.cuptiActivityEnable(kind) : cupti_.cuptiActivityDisable(kind);
    }
    return;
  }
  const auto asks_for_work = [&](CUpti_CallbackDomain domain, std::uint32_t id) {
    const char* name = nullptr;
    if (cupti_.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) return false;
    for (const char* part : {"Launch", "Memcpy", "Memset", "Prefetch", "Decompress"}) {
      if (std::strstr(name, part)) return true;
    }
    return false;
  };
  for (std::uint32_t id = 1; id < CUPTI_RUNTIME_TRACE_CBID_SIZE; ++id) {
    if (asks_for_work(CUPTI_CB_DOMAIN_RUNTIME_API, id)) {
      cupti_.cuptiActivityEnableRuntimeApi(id, on);
    }
  }
  for (std::uint32_t id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; ++id) {
    if (asks_for_work(CUPTI_CB_DOMAIN_DRIVER_API, id)) cupti_.cuptiActivityEnableDriverApi(id, on);
  }
}

void Collector::configure_unified_memory() {
  if (!cupti_.cuptiActivityConfigureUnifiedMemoryCounter) return;
  constexpr CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
  };
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> counters;
  for (const auto kind : kinds) {
    counters.push_back(
        {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, kind, 0, 1});
  }
  cupti_.cuptiActivityConfigureUnifiedMemoryCounter(counters.data(),
                                                    static_cast<std::uint32_t>(counters.size()));
}

bool Collector::wants(int kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

}  // namespace gpuprof::collect
