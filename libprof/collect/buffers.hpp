// The road of records through the target: CUPTI's buffers out of the arena, packed into rows when
// they come back, and sent. The collector's own records, which CUPTI does not make, go with them.
//
// create() first, on one thread, then the settings; after that any thread, as CUPTI's callbacks
// come. lend() and note_launch() are on the application's hot paths and take no lock.
#pragma once

#include <cupti.h>

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
#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/delivery.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/payload_schemas.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/strings.hpp"

namespace gpuprof::collect {

class Buffers {
 public:
  Buffers(CheckedApi& cupti, Channel& channel, Stream& stream)
      : cupti_(cupti), channel_(channel), stream_(stream) {}

  // Makes the arena as the launcher wants it, and all that takes records out of it, and has CUPTI
  // call `on_request` and `on_complete`. Nothing: it works; else why not. Again for another
  // launcher: the arena stays, as large as the first one wanted it.
  std::optional<std::string> create(const wire::Fields& config,
                                    CUpti_BuffersCallbackRequestFunc on_request,
                                    CUpti_BuffersCallbackCompleteFunc on_complete);
  const Arena& arena() const { return arena_; }

  // Settings, before there are records.
  void want(int kind, bool wanted) { packer_->want(static_cast<std::size_t>(kind), wanted); }
  // FUNCTION has a row for each function of a module.
  void list_functions(bool wanted) { list_functions_ = wanted; }
  void leave_out_profiler() { packer_->leave_out_profiler(); }

  // A buffer for CUPTI; null when all are out, which is counted.
  std::byte* lend();
  // It comes back with `used` bytes of records: they are packed and sent.
  void completed(const std::byte* buffer, std::size_t used);
  // It comes back when nobody wants its records.
  void unwanted(const std::byte* buffer, std::size_t used);
  // Has CUPTI give back what it has. One at a time: CUPTI waits for the buffers of this flush to be
  // delivered and not for those of another, and the last flush must not overtake one that our
  // thread began.
  void flush(std::uint32_t flags);

  // Which kernel a launch is of, for kernels whose records die with the process.
  void note_launch(const char* name, std::uint32_t correlation_id) {
    launch_names_->note(name, correlation_id);
  }
  // DEVICE records are written while the driver starts and may lie in a buffer for long. Their
  // names are read now, so that they outlive a target that dies early. The buffer is CUPTI's
  // meanwhile, but reading finished records in it is safe (measured: docs/measurements/history.md).
  void keep_device_names();

  // Records that CUPTI declares and does not deliver.
  void add_module(const CUpti_ResourceData& loaded);
  void add(std::span<const CUpti_ActivityDeviceAttribute> attributes);

  // Sends what waits for a launcher that reads again.
  void resume();
  // Waits until that is out, as long as it goes on and `patience` longer. What is left then salvage
  // finds.
  void wait_until_sent(std::chrono::milliseconds patience);

  // Driver calls of the calling thread are ours and not the target's.
  void leave_out_this_thread();
  // Counted where the launcher finds it whatever happens; create() must have worked.
  void count(wire::Count what) { arena_.ledger().add(what); }
  std::vector<wire::Statistic> statistics() const {
    return wire::read_ledger(arena_.ledger()).statistics;
  }
  // The process begins to end in order.
  void process_ends() { arena_.ledger().ended.store(1); }
  // For the child of a fork, see Arena::abandon().
  void abandon() { arena_.abandon(); }

 private:
  std::uint64_t sum_of_cubin(const void* cubin, std::size_t size);
  // Under packing_.
  void add_functions(std::uint32_t context, const CUpti_ModuleResourceData& module);

  CheckedApi& cupti_;
  Channel& channel_;
  Stream& stream_;
  Arena arena_;
  std::unique_ptr<LaunchNames> launch_names_;
  std::mutex flushing_;  // held while CUPTI flushes
  std::mutex packing_;   // guards the rest; held while a batch is sent
  std::unique_ptr<PayloadSchemas> payload_schemas_;
  std::unique_ptr<LiveStrings> strings_;
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<Delivery> delivery_;
  bool list_functions_ = true;
  std::uint32_t functions_ = 0;     // of modules, so far
  std::set<std::uint64_t> cubins_;  // sums of those that were sent
};

}  // namespace gpuprof::collect
