// The path of records through the target: CUPTI gets buffers from the arena; when they come back,
// their records are packed into rows and sent, along with the collector's own records, which CUPTI
// does not produce.
//
// First create(), on one thread, then the settings; after that any thread, as CUPTI calls back.
// lend(), note_launch(), calls(), nvtx() and nccl() are on the application's hot paths and take no
// lock.
#pragma once

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/call_records.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/delivery.hpp"
#include "libprof/collect/nccl_operations.hpp"
#include "libprof/collect/nvtx_records.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/payload_schemas.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/collect/thread_slots.hpp"

namespace gpuprof::collect {

class Buffers {
 public:
  Buffers(CheckedApi& cupti, Channel& channel, Stream& stream)
      : cupti_(cupti), channel_(channel), stream_(stream) {}

  // Creates the arena as the launcher's config asks, and everything that processes its records, and
  // registers `on_request` and `on_complete` with CUPTI. Returns nullopt on success, otherwise the
  // reason. May be called again for another launcher: the arena is kept, at its first size.
  // `leaves_again`: leave_cupti() will be called.
  std::optional<std::string> create(const wire::Fields& config, bool leaves_again,
                                    CUpti_BuffersCallbackRequestFunc on_request,
                                    CUpti_BuffersCallbackCompleteFunc on_complete);
  const Arena& arena() const { return arena_; }
  // Calls and NVTX that the collector records itself.
  CallRecords& calls() { return calls_; }
  NvtxRecords& nvtx() { return nvtx_; }
  NcclOperations& nccl() { return nccl_; }
  Costs& costs() { return slots_.costs(); }
  void correct_clock() { slots_.correct_clock(); }
  ThreadSlots& slots() { return slots_; }
  ThreadSlots::Thread& this_thread() { return slots_.here(); }
  // The id of the latest call of this thread that is known here; 0: none.
  std::uint32_t last_correlation() {
    const ThreadSlots::Thread& thread = slots_.here();
    return std::max(thread.launched.correlation, thread.calls.open[0].correlation);
  }

  // Settings; call before there are records.
  void want(int kind, bool wanted) { packer_->want(static_cast<std::size_t>(kind), wanted); }
  // CUPTI's own records of calls, and of waits, are left out. Any thread.
  void make_calls(bool calls, bool waits) {
    const std::lock_guard lock(packing_);
    packer_->make_calls(calls, waits);
  }
  // Another client of CUPTI wants this kind, and we do not. Any thread.
  void leave_out(int kind) {
    const std::lock_guard lock(packing_);
    packer_->want(static_cast<std::size_t>(kind), false);
  }
  // Records so far that CUPTI had no buffer for.
  std::uint64_t dropped_by_cupti() const {
    const auto what = static_cast<std::size_t>(wire::Count::records_dropped_by_cupti);
    return arena_.ledger().counted[what].load();
  }
  // FUNCTION gets a row for each function of a module.
  void list_functions(bool wanted) { list_functions_ = wanted; }
  void leave_out_profiler() { packer_->leave_out_profiler(); }

  // A buffer for CUPTI; null if all are in use, which is counted.
  std::byte* lend();
  // CUPTI returned it with `used` bytes of records, which are packed and sent.
  void completed(const std::byte* buffer, std::size_t used);
  // CUPTI returned it, but nobody wants its records.
  void unwanted(const std::byte* buffer, std::size_t used);
  // Makes CUPTI return its buffers, and sends the records of calls. One at a time: CUPTI waits for
  // the buffers of this flush to be delivered but not for those of another, and the last flush must
  // not overtake one started by our thread.
  void flush(std::uint32_t flags);
  // Called by the target's thread that has waited for the GPU: what ran until then is complete, but
  // CUPTI has not written its times yet, and the program may end without notice. Takes a hundredth
  // of the time at most, also in a program that does little but wait.
  void flush_after_wait();

  // How many kernels came without times since the last call. Then the GPU's memory for times was
  // full, and CUPTI gets a quarter more of it, a few times at most. Our own thread.
  std::uint64_t untimed_kernels();

  // Records which kernel a launch is for, in case the kernel's record dies with the process.
  void note_launch(const char* name, std::uint32_t correlation_id) {
    launch_names_->note(name, correlation_id);
  }
  // DEVICE records are written while the driver starts and may stay in a buffer for long. Reads
  // their names now, so that they outlive a target that dies early. CUPTI still owns the buffer,
  // but reading finished records in it is safe (measured: docs/measurements/history.md).
  void keep_device_names();

  // Records that CUPTI declares but does not deliver.
  void add_module(const CUpti_ResourceData& loaded);
  void add(std::span<const CUpti_ActivityDeviceAttribute> attributes);

  // Sends what waits, once the launcher reads again.
  void resume();
  // Waits until that has been sent: up to `patience`, restarted whenever there is progress. Salvage
  // finds the rest.
  void wait_until_sent(std::chrono::milliseconds patience);

  // Marks driver calls of the calling thread as ours rather than the target's.
  void leave_out_this_thread();
  // Counts where the launcher finds it whatever happens. Requires a successful create().
  void count(wire::Count what) { arena_.ledger().add(what); }
  std::vector<wire::Statistic> statistics() const {
    return wire::read_ledger(arena_.ledger()).statistics;
  }
  // How many records have been packed.
  std::uint64_t records() const {
    return arena_.ledger().counted[static_cast<std::size_t>(wire::Count::records_packed)].load();
  }
  // CUPTI has returned its buffers, and may get another client: its settings become what they were.
  void leave_cupti();
  // Between two traces: gives memory that is not in use back to the system.
  void release_memory() { arena_.release_free_slots(); }
  // The process begins an orderly exit.
  void process_ends() { arena_.ledger().ended.store(1); }
  // For the child of a fork; see Arena::abandon().
  void abandon() {
    slots_.abandon();
    arena_.abandon();
  }

 private:
  // The GPU's memory in which kernels leave their times. Before CUDA starts.
  void size_device_buffers(const wire::Fields& config);
  void set_attribute(CUpti_ActivityAttribute attribute, std::int64_t value);
  void expect_zeroed_buffers();
  bool use_thread_ids(CUpti_ActivityThreadIdType type);
  std::uint64_t sum_of_cubin(const void* cubin, std::size_t size);
  void flush_locked(std::uint32_t flags);  // under flushing_
  // Call these under packing_.
  void note_packed();
  void add_functions(std::uint32_t context, const CUpti_ModuleResourceData& module);

  CheckedApi& cupti_;
  Channel& channel_;
  Stream& stream_;
  Arena arena_;
  ThreadSlots slots_{arena_};
  CallRecords calls_{slots_};
  NvtxRecords nvtx_{slots_};
  NcclOperations nccl_{slots_};
  std::unique_ptr<LaunchNames> launch_names_;
  std::timed_mutex flushing_;  // held while CUPTI flushes
  // The time that flushes after waits have used, as a point in time up to which their share of the
  // time is spent: CLOCK_MONOTONIC, ns.
  std::atomic<std::int64_t> waits_used_until_{0};
  std::atomic<std::uint64_t> untimed_kernels_{0};
  std::uint64_t untimed_before_ = 0;  // our own thread's
  std::int64_t device_buffers_ = 0, most_device_buffers_ = 0;
  std::mutex packing_;  // guards the members below; held while a batch is sent
  std::unique_ptr<PayloadSchemas> payload_schemas_;
  std::unique_ptr<LiveStrings> strings_;
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<Delivery> delivery_;
  bool list_functions_ = true;
  std::uint32_t functions_ = 0;     // of modules, so far
  std::set<std::uint64_t> cubins_;  // sums of those already sent
};

}  // namespace gpuprof::collect
