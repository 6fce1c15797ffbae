#include "libprof/collect/tracing.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

#include "schema/activity/all.hpp"
#include "schema/serial_kernels.hpp"

namespace gpuprof::collect {
namespace {

bool describes_the_machine(int kind) {
  const schema::KindRef* known = schema::find_kind(kind);
  return known && known->info->group == schema::Group::topology;
}

// CUPTI refuses these before the driver is up (measured: docs/measurements/history.md).
bool waits_for_driver(int kind) {
  return kind == schema::UnifiedMemoryCounter::info.id || kind == schema::Environment::info.id;
}

// Some kinds are missing in older versions or on some devices or drivers, or the user may lack
// permission.
constexpr std::initializer_list<CUptiResult> not_to_be_had = {
    CUPTI_ERROR_INVALID_KIND,
    CUPTI_ERROR_INVALID_PARAMETER,
    CUPTI_ERROR_INVALID_DEVICE,
    CUPTI_ERROR_NOT_COMPATIBLE,
    CUPTI_ERROR_NOT_READY,
    CUPTI_ERROR_NOT_INITIALIZED,
    CUPTI_ERROR_NOT_SUPPORTED,
    CUPTI_ERROR_API_NOT_IMPLEMENTED,
    CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED,
    CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE,
    CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES,
    CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS,
    CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED,
    CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED,
    CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
    CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
    CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
    CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
    CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED,
    CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
    CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED,
    CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED,
    CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS,
};

}  // namespace

void Tracing::choose(const wire::Fields& config) {
  kinds_.clear();
  for (const std::uint32_t kind : config.numbers("kinds")) {
    kinds_.push_back(static_cast<int>(kind));
  }
  // CUPTI 13.0 and 13.5 often deliver no kernels of a process that launches all the time while
  // another kind is enabled before them (measured: docs/measurements.md).
  std::ranges::stable_partition(kinds_,
                                [](int kind) { return is_kernel(static_cast<std::size_t>(kind)); });
  queries_ = config.integer("queries", 1) != 0;
  launch_calls_only_ = config.integer("launch_calls_only", 0) != 0;
  from_start_ = config.integer("from_start", 1) != 0;
  measured_ = false;
  serial_ = wants(schema::Kernel::info.id);
  buffers_.list_functions(wants(schema::Function::info.id));
  buffers_.want(schema::Kernel::info.id, serial_);
  buffers_.want(schema::ConcurrentKernel::info.id, wants(schema::ConcurrentKernel::info.id));
  if (launch_calls_only_) {
    buffers_.want(schema::Driver::info.id, false);
    buffers_.want(schema::Runtime::info.id, false);
  }
  choose_details(config);
}

bool Tracing::wants(int kind) const { return std::ranges::find(kinds_, kind) != kinds_.end(); }

void Tracing::choose_details(const wire::Fields& config) {
  const auto choose = [&](bool wanted, auto function, const char* what) {
    if (!wanted) return;
    if (!function) return stream_.tell("warning", std::string(what) + ": this libcupti is too old");
    const CUptiResult result = function(1);
    if (result == CUPTI_SUCCESS) {
      details_off_.emplace_back([this, function, what] { cupti_.try_(what, function(0)); });
      return;
    }
    stream_.tell("warning", std::string(what) + ": " + cupti_.text(result));
  };
  choose(config.integer("latency_timestamps", 0), cupti_.cuptiActivityEnableLatencyTimestamps,
         "no times of queueing and submitting kernels");
  choose(config.integer("allocation_source", 0), cupti_.cuptiActivityEnableAllocationSource,
         "no libraries that allocate");
  // A version without these lacks the column or rows, as documented.
  choose(wants(schema::CudaEvent::info.id) && cupti_.cuptiActivityEnableCudaEventDeviceTimestamps,
         cupti_.cuptiActivityEnableCudaEventDeviceTimestamps, "no times of events on the GPU");
  choose(wants(schema::GraphTrace::info.id) && !serial_ && cupti_.cuptiActivityEnableDeviceGraph,
         cupti_.cuptiActivityEnableDeviceGraph, "no graphs launched by kernels");
}

void Tracing::measured_beside(bool trace_serially) {
  measured_ = true;
  if (trace_serially && wants(schema::ConcurrentKernel::info.id)) serial_.store(true);
}

void Tracing::begin() {
  calls_.choose({.runtime = wants(schema::Runtime::info.id),
                 .driver = wants(schema::Driver::info.id),
                 .queries = queries_,
                 .only_launches = launch_calls_only_,
                 .external_correlation = wants(schema::ExternalCorrelation::info.id),
                 .waits = wants(schema::Synchronization::info.id),
                 .cuda_events = wants(schema::CudaEvent::info.id),
                 .places = places_},
                stream_);
  buffers_.make_calls(calls_.by_callbacks(CUPTI_ACTIVITY_KIND_RUNTIME),
                      calls_.by_callbacks(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
  const std::lock_guard lock(enabling_);
  for (const int kind : kinds_) {
    // Where things ran is needed whatever is collected, and is reported only once.
    if (describes_the_machine(kind)) enable(kind);
  }
  if (from_start_) enable_all();
}

void Tracing::driver_is_up() {
  if (!kinds_wait_.exchange(false)) return;
  const std::lock_guard lock(enabling_);
  for (const int kind : std::exchange(waiting_kinds_, {})) enable(kind);
}

void Tracing::start() {
  const std::lock_guard lock(enabling_);
  enable_all();
}

void Tracing::stop() {
  const std::lock_guard lock(enabling_);
  buffers_.flush(0);
  on_.store(false);
  subscription_.trace_launches(false);
  if (launch_calls_only_) calls_.trace_launches(false);
  for (auto kind = enabled_.begin(); kind != enabled_.end();) {
    if (describes_the_machine(*kind)) {
      ++kind;
      continue;
    }
    disable(cupti_kind(*kind));
    kind = enabled_.erase(kind);
  }
}

void Tracing::enable_all() {
  on_.store(true);
  subscription_.trace_launches(true);
  for (const int kind : kinds_) enable(kind);
  if (launch_calls_only_) calls_.trace_launches(true);
}

void Tracing::enable(int kind) {
  const schema::KindRef* known = schema::find_kind(kind);
  if (!known || enabled_.contains(kind) || given_up_.contains(kind)) return;
  const schema::KindInfo* info = known->info;
  const auto unavailable = [&](const std::string& why) {
    stream_.tell("unavailable", std::string(info->table) + ": " + why);
  };
  if (const char* why = why_not(kind)) return unavailable(why);
  if (calls_.by_callbacks(kind)) {
    enabled_.insert(kind);
    return calls_.record(kind, true);
  }
  if (kind == schema::Marker::info.id) {
    enabled_.insert(kind);
    return buffers_.nvtx().record(true);
  }
  CUptiResult result = CUPTI_SUCCESS;
  switch (info->source) {
    case schema::Source::ourselves:
    case schema::Source::with_other: return;
    case schema::Source::enable_and_dump: result = switch_on(cupti_kind(kind), true); break;
    case schema::Source::enable:
      if (waits_for_driver(kind) && !contexts_.any_seen()) {
        waiting_kinds_.push_back(kind);
        kinds_wait_.store(true);
        return;
      }
      if (kind == schema::UnifiedMemoryCounter::info.id) configure_unified_memory();
      result = switch_on(cupti_kind(kind));
      break;
  }
  if (!cupti_.try_("cuptiActivityEnable", result, not_to_be_had)) {
    // The run goes on without it, and says so.
    return unavailable(cupti_.text(result));
  }
  enabled_.insert(kind);
  calls_.enabled(kind, true);
  if (is_kernel(static_cast<std::size_t>(kind))) buffers_.nccl().record(true);
}

CUptiResult Tracing::switch_on(CUpti_ActivityKind kind, bool dump) {
  const std::lock_guard lock(switching_);
  const CUptiResult result = dump ? enable_and_dump(kind) : cupti_.cuptiActivityEnable(kind);
  if (result == CUPTI_SUCCESS) switched_[kind].by_us = true;
  return result;
}

CUptiResult Tracing::switch_off(CUpti_ActivityKind kind) {
  const std::lock_guard lock(switching_);
  Wanted& wanted = switched_[kind];
  wanted.by_us = false;
  return wanted.by_client ? CUPTI_SUCCESS : cupti_.cuptiActivityDisable(kind);
}

CUptiResult Tracing::share(int kind, bool on) {
  // The records are nothing that this run wants; external correlation ids join what it has.
  if (on && !wants(kind) && kind != schema::ExternalCorrelation::info.id) buffers_.leave_out(kind);
  const std::lock_guard lock(switching_);
  Wanted& wanted = switched_[static_cast<std::size_t>(kind)];
  const auto of_cupti = static_cast<CUpti_ActivityKind>(kind);
  // While kernels are traced one at a time, this kind stands for the other.
  constexpr int both = CUPTI_ACTIVITY_KIND_KERNEL + CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const bool is_traced = wanted.by_us || (is_kernel(static_cast<std::size_t>(kind)) &&
                                          switched_[static_cast<std::size_t>(both - kind)].by_us);
  CUptiResult result = CUPTI_SUCCESS;
  if (!is_traced) {
    result = on ? cupti_.cuptiActivityEnable(of_cupti) : cupti_.cuptiActivityDisable(of_cupti);
  }
  wanted.by_client = on && result == CUPTI_SUCCESS;
  return result;
}

// Before the driver is up there is nothing to dump, and CUPTI may return any error for that; then
// plain enabling is enough.
CUptiResult Tracing::enable_and_dump(CUpti_ActivityKind kind) {
  if (cupti_.cuptiActivityEnableAndDump &&
      cupti_.cuptiActivityEnableAndDump(kind) == CUPTI_SUCCESS) {
    return CUPTI_SUCCESS;
  }
  return cupti_.cuptiActivityEnable(kind);
}

void Tracing::disable(CUpti_ActivityKind kind) {
  if (calls_.by_callbacks(kind)) return calls_.record(kind, false);
  if (kind == CUPTI_ACTIVITY_KIND_MARKER) return buffers_.nvtx().record(false);
  cupti_.try_("cuptiActivityDisable", switch_off(kind));
  calls_.enabled(kind, false);
  if (is_kernel(kind)) buffers_.nccl().record(false);
}

// Kinds that CUPTI has, but that spoil more important data (measured:
// docs/measurements/history.md).
const char* Tracing::why_not(int kind) const {
  const schema::KindRef* known = schema::find_kind(kind);
  if (serial_ && known && schema::needs_concurrent_kernels(*known->info)) {
    return "not while kernels are traced one at a time";
  }
  // Seen with 13.0 and 13.1; older versions are assumed to behave the same.
  if (measured_ && kind == schema::Pcie::info.id && cupti_.version < 130200) {
    return "CUPTI before 13.2 does not measure at the same time";
  }
  return nullptr;
}

// CUPTI's name for a kind.
CUpti_ActivityKind Tracing::cupti_kind(int kind) const {
  if (is_kernel(static_cast<std::size_t>(kind))) {
    return serial_ && graph_launches_ == 0 ? CUPTI_ACTIVITY_KIND_KERNEL
                                           : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  }
  return static_cast<CUpti_ActivityKind>(kind);
}

// While CUPTI traces kernels one at a time, it has no times for those in a graph, and a graph
// launch ends all measuring for good. So they are traced as concurrent kernels, which adds
// instructions to them; if they are part of a measured range, they are not traced at all (measured:
// docs/measurements/history.md).
void Tracing::graph_launch(bool enters, bool measured) {
  if (ends_.load()) return;
  const std::lock_guard lock(enabling_);
  const CUpti_ActivityKind before = cupti_kind(schema::Kernel::info.id);
  graph_launches_ += enters ? 1 : -1;
  const CUpti_ActivityKind now = cupti_kind(schema::Kernel::info.id);
  if (std::ranges::none_of(enabled_, is_kernel)) return;
  if (enters && measured) buffers_.count(wire::Count::graphs_not_traced);
  if (now == before) return;
  disable(before);
  if (enters && measured) return;
  cupti_.try_("cuptiActivityEnable", switch_on(now));
  buffers_.nccl().record(true);
}

void Tracing::configure_unified_memory() {
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
  // If the device or the driver has none, enabling reports it.
  cupti_.try_("cuptiActivityConfigureUnifiedMemoryCounter",
              cupti_.cuptiActivityConfigureUnifiedMemoryCounter(
                  counters.data(), static_cast<std::uint32_t>(counters.size())),
              not_to_be_had);
}

void Tracing::leave_out(CUpti_ActivityKind kind, const std::function<void()>& f) {
  const std::lock_guard lock(enabling_);
  const bool traced = enabled_.contains(kind);
  if (traced) disable(kind);
  f();
  if (!traced) return;
  if (calls_.by_callbacks(kind)) return calls_.record(kind, true);
  cupti_.try_("cuptiActivityEnable", switch_on(kind));
}

bool Tracing::give_up(Cut cut) {
  const std::lock_guard lock(enabling_);
  switch (cut) {
    case Cut::nvtx: return give_up(schema::Marker::info.id);
    case Cut::other_calls: {
      const bool waits = give_up(schema::Synchronization::info.id);
      return calls_.stop_recording(false) || waits;
    }
    case Cut::launch_calls: return calls_.stop_recording(true);
    case Cut::none: break;
  }
  return false;
}

bool Tracing::give_up(int kind) {
  given_up_.insert(kind);
  if (enabled_.erase(kind) == 0) return false;
  disable(cupti_kind(kind));
  return true;
}

void Tracing::end() {
  const std::lock_guard lock(enabling_);
  given_up_.clear();
  on_.store(false);
  subscription_.trace_launches(false);
  if (launch_calls_only_ && !enabled_.empty()) calls_.trace_launches(false);
  for (const int kind : enabled_) disable(cupti_kind(kind));
  enabled_.clear();
  for (const auto& off : std::exchange(details_off_, {})) off();
  waiting_kinds_.clear();
  kinds_wait_.store(false);
  graph_launches_ = 0;
}

// By CUPTI's own kinds, whose records are left out.
void Tracing::watch_calls(bool on) {
  for (const auto kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}) {
    on ? cupti_.try_("cuptiActivityEnable", switch_on(kind))
       : cupti_.try_("cuptiActivityDisable", switch_off(kind));
  }
}

void Tracing::among_calls(const std::function<void()>& disable) {
  // For calls that began before the switch; longer ones are rare.
  constexpr std::chrono::milliseconds most_calls{20};
  const bool watched = calls_.by_callbacks(CUPTI_ACTIVITY_KIND_RUNTIME);
  if (watched) {
    watch_calls(true);
    std::this_thread::sleep_for(most_calls);
  }
  disable();
  std::this_thread::sleep_for(most_calls);
  if (watched) watch_calls(false);
}

void Tracing::end_among_calls(const std::function<void()>& disable) {
  among_calls([&] {
    end();
    disable();
  });
}

void Tracing::end_unused_callbacks() {
  among_calls([this] {
    const std::lock_guard lock(enabling_);
    subscription_.disable_unused();
  });
}

}  // namespace gpuprof::collect
