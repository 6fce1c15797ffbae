// The collector as NCCL's profiler plug-in, which NCCL loads as it makes the first communicator of
// a process, if NCCL_PROFILER_PLUGIN names it. Without a trace in the process it asks for no
// events.
//
// Only events that cost NCCL nothing are asked for: no times of the channels in a kernel, and
// nothing of the threads that serve its network.
#include <cstdint>

#include "libprof/collect/collector.hpp"
#include "libprof/collect/nccl_abi.hpp"

namespace {

using gpuprof::collect::Collector;
using gpuprof::collect::NcclOperations;
namespace nccl = gpuprof::collect::nccl;

constexpr char name[] = "gpuprof";

int begin(void** context, int* mask, const NcclOperations::Communicator& communicator) noexcept {
  if (!context || !mask) return nccl::success;
  *context = Collector::instance().nccl_begins(communicator);
  // Of the process, not of the communicator.
  if (*context) *mask = nccl::collective | nccl::transfer | nccl::copied_collective;
  return nccl::success;
}

int begin3(void** context, int* mask) noexcept { return begin(context, mask, {}); }

int begin4(void** context, int* mask, const char* communicator_name, std::uint64_t communicator,
           int, int ranks, int rank, void*) noexcept {
  return begin(context, mask, {communicator, communicator_name, rank, ranks});
}

int begin5(void** context, std::uint64_t communicator, int* mask, const char* communicator_name,
           int, int ranks, int rank, void*) noexcept {
  return begin(context, mask, {communicator, communicator_name, rank, ranks});
}

template <class Event>
int start_event(void* context, void** handle, const Event* event) noexcept {
  if (!handle) return nccl::success;
  *handle = event ? Collector::instance().nccl().take(context, *event) : nullptr;
  return nccl::success;
}

int stop_event(void*) noexcept { return nccl::success; }
int record_state(void*, int, const void*) noexcept { return nccl::success; }

int end(void* context) noexcept {
  Collector::instance().nccl().end(context);
  return nccl::success;
}

template <class Init, class Event>
constexpr nccl::Functions<Init, Event> functions(Init init) {
  return {name, init, &start_event<Event>, &stop_event, &record_state, &end};
}

}  // namespace

extern "C" {

// Newer versions of NCCL know older tables.
extern const nccl::Functions<nccl::Init3, nccl::Event3> ncclProfiler_v3 =
    functions<nccl::Init3, nccl::Event3>(&begin3);
extern const nccl::Functions<nccl::Init4, nccl::Event4> ncclProfiler_v4 =
    functions<nccl::Init4, nccl::Event4>(&begin4);
extern const nccl::Functions<nccl::Init5, nccl::Event5> ncclProfiler_v5 =
    functions<nccl::Init5, nccl::Event5>(&begin5);
extern const nccl::Functions<nccl::Init5, nccl::Event5> ncclProfiler_v6 =
    functions<nccl::Init5, nccl::Event5>(&begin5);

}  // extern "C"
