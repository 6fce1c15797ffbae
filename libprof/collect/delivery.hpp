// What becomes of records that CUPTI delivered: they are packed and sent.
//
// While the launcher stands still (channel.hpp), and after the target has closed the socket,
// batches stay in their slots, where they outlive the target. Some slots stay free for CUPTI; what
// goes beyond is counted by kind in the ledger and thrown away. So CUPTI has a buffer at all times,
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

  // A completed buffer, of which `used` bytes hold records. Its slot is given back, now or later.
  void take(std::uint32_t slot, std::size_t used);
  // The collector's own records, which were added to the packer. false: they are lost, and counted.
  bool send_own();
  // Goes on where the launcher reads again. true: something went out.
  bool resume();

 private:
  using RowCounts = std::vector<std::pair<std::size_t, std::uint64_t>>;  // by kind

  // A batch that waits. Its slot, or the rows that die with the process.
  struct Kept {
    std::uint32_t slot;
    std::size_t used;
    RowCounts rows;
  };

  void deliver(std::uint32_t slot, std::size_t used);
  bool keep(std::uint32_t slot, const Batch& batch);
  // For good. Killed in between, it tells a loss twice rather than not at all.
  void discard(std::uint32_t slot, std::size_t used, const RowCounts& rows);
  bool may_keep() const;
  RowCounts packed_rows() const;
  // In the ledger: these are lost if nothing else happens. And: they are not.
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
