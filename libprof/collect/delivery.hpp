// What happens to records that CUPTI delivered: they are packed and sent.
//
// While the launcher is stalled (channel.hpp), and after the target has closed the socket, batches
// stay in their slots, where they outlive the target. Some slots stay free for CUPTI; anything
// beyond that is discarded and counted by kind in the ledger. So CUPTI has a buffer at all times,
// and each record is sent, left in the arena or counted.
//
// One thread at a time. Nothing here waits longer than the channel's patience.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/packer.hpp"

namespace gpuprof::collect {

class Delivery {
 public:
  // `next` is the running CUPTI's cuptiActivityGetNextRecord.
  Delivery(Arena& arena, Channel& channel, Packer& packer,
           decltype(&::cuptiActivityGetNextRecord) next)
      : arena_(arena), channel_(channel), packer_(packer), next_(next) {}

  // A completed buffer with `used` bytes of records. Its slot is given back, now or later.
  void take(std::uint32_t slot, std::size_t used);
  // Sends the records of calls that threads have written since the last time. What cannot be sent
  // now waits in its slot.
  void take_calls();
  // Sends the collector's own records, which were added to the packer. false: they are lost, and
  // counted.
  bool send_own();
  // Continues once the launcher reads again. true: something was sent.
  bool resume();

 private:
  using RowCounts = std::vector<std::pair<std::size_t, std::uint64_t>>;  // by kind

  // A batch that waits: its slot, or the rows that die with the process.
  struct Kept {
    std::uint32_t slot;
    std::size_t used;  // in a slot of calls: where the batch ends
    RowCounts rows;
  };

  void deliver(std::uint32_t slot, std::size_t used);
  bool is_of_calls(std::uint32_t slot) const {
    return slot != wire::no_slot && slot >= arena_.slot_count();
  }
  void take_calls_of(std::uint32_t slot);
  // The records of calls up to `end` are on the wire.
  void calls_sent(std::uint32_t slot, std::uint32_t end);
  bool keep(std::uint32_t slot, const Batch& batch);
  // Discards for good. A target killed in between reports a loss twice rather than not at all.
  void discard(std::uint32_t slot, std::size_t used, const RowCounts& rows);
  bool may_keep() const;
  RowCounts packed_rows() const;
  // Ledger updates: these rows are lost if nothing else happens; and these are not lost after all.
  void count_as_lost(const RowCounts& rows);
  void count_as_safe(const RowCounts& rows);

  Arena& arena_;
  Channel& channel_;
  Packer& packer_;
  const decltype(&::cuptiActivityGetNextRecord) next_;
  std::map<Channel::Ticket, Kept> kept_;
  Channel::Ticket last_ticket_ = Channel::no_ticket;
};

}  // namespace gpuprof::collect
