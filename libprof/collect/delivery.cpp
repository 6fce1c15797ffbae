#include "libprof/collect/delivery.hpp"

#include <algorithm>
#include <array>

#include "libprof/collect/made_records.hpp"

namespace gpuprof::collect {

using Sent = Channel::Sent;

void Delivery::take(std::uint32_t slot, std::size_t used) {
  resume();
  if (used == 0) return arena_.give_back(slot, used);
  if (channel_.flows() || may_keep()) return deliver(slot, used);
  std::array<std::uint64_t, wire::ledger_kinds> counts{};
  walk_buffer(next_, arena_.slot(slot), used,
              [&](const CUpti_Activity* record) { packer_.count(record, counts); });
  RowCounts rows;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] > 0) rows.emplace_back(kind, counts[kind]);
  }
  discard(slot, used, rows);
}

void Delivery::deliver(std::uint32_t slot, std::size_t used) {
  walk_buffer(next_, arena_.slot(slot), used,
              [&](const CUpti_Activity* record) { packer_.add(record); });
  const std::uint32_t generation = arena_.slot_header(slot).generation.load();
  const Batch batch(packer_, {slot, generation, 0, 0});
  const Channel::Ticket ticket = ++last_ticket_;
  const bool flowed = channel_.flows();
  Sent sent =
      flowed ? channel_.send(wire::FrameType::batch, batch.pieces(), ticket) : Sent::refused;
  if (sent == Sent::whole) {
    packer_.clear();
    return arena_.give_back(slot, used);
  }
  // If the batch is longer than the slot, the records stay there for salvage.
  const bool in_slot = keep(slot, batch);
  if (!flowed && channel_.alive()) {
    const bool waits =
        in_slot ? channel_.send_later(wire::FrameType::batch, arena_.kept(slot), ticket)
                : channel_.send(wire::FrameType::batch, batch.pieces(), ticket) != Sent::refused;
    if (waits) sent = Sent::waiting;
  }
  if (sent == Sent::waiting) {
    kept_[ticket] = {slot, in_slot ? std::max(used, arena_.kept(slot).size()) : used, {}};
  } else if (!channel_.closed_by_target()) {
    discard(slot, arena_.slot_size(), packed_rows());
    return packer_.clear_rows();
  }
  packer_.clear();
}

void Delivery::discard(std::uint32_t slot, std::size_t used, const RowCounts& rows) {
  count_as_lost(rows);
  arena_.withdraw(slot);
  arena_.give_back(slot, used);
}

void Delivery::take_calls() {
  for (std::uint32_t slot = arena_.slot_count(); slot < arena_.all_slots(); ++slot) {
    if (!channel_.flows()) return;
    const SlotState state = arena_.slot_header(slot).state.load(std::memory_order_acquire);
    if (state == SlotState::calls || state == SlotState::calls_done) take_calls_of(slot);
  }
}

void Delivery::take_calls_of(std::uint32_t slot) {
  SlotHeader& header = arena_.slot_header(slot);
  const std::uint32_t from = header.sending.load().end;
  const std::uint32_t end = header.used.load(std::memory_order_acquire);
  if (end == from) return calls_sent(slot, end);
  MadeRecords(arena_, slot).for_each(from, end, [&](const auto& made) { packer_.add_made(made); });
  // If it dies in between, salvage finds out which batch arrived.
  const CallBatch batch_of_calls{end, header.generation.fetch_add(1) + 1};
  header.sending.store(batch_of_calls);
  const Batch batch(packer_, {slot, batch_of_calls.generation, 0, 0});
  const Channel::Ticket ticket = ++last_ticket_;
  const Sent sent = channel_.send(wire::FrameType::batch, batch.pieces(), ticket);
  if (sent == Sent::refused) {
    header.sending.store({from, batch_of_calls.generation});
    return packer_.clear_rows();
  }
  packer_.clear();
  if (sent == Sent::waiting) {
    kept_[ticket] = {slot, end, {}};
  } else {
    calls_sent(slot, end);
  }
}

void Delivery::calls_sent(std::uint32_t slot, std::uint32_t end) {
  SlotHeader& header = arena_.slot_header(slot);
  header.sent.store(end);
  // The thread writes no more once the slot is done, so `used` does not change then.
  if (header.state.load(std::memory_order_acquire) == SlotState::calls_done &&
      header.used.load() == end) {
    arena_.give_back_calls(slot);
  }
}

bool Delivery::send_own() {
  const RowCounts rows = packed_rows();
  count_as_lost(rows);
  const Channel::Ticket ticket = ++last_ticket_;
  const Batch batch(packer_, {wire::no_slot, 0, 0, 0});
  const Sent sent = channel_.send(wire::FrameType::batch, batch.pieces(), ticket);
  if (sent == Sent::refused) {
    packer_.clear_rows();
    return false;
  }
  if (sent == Sent::whole) count_as_safe(rows);
  if (sent == Sent::waiting) kept_[ticket] = {wire::no_slot, 0, rows};
  packer_.clear();
  return true;
}

bool Delivery::resume() {
  if (channel_.flows()) return false;
  std::vector<Channel::Ticket> done;
  const bool some = channel_.resume(done);
  for (const Channel::Ticket ticket : done) {
    const auto kept = kept_.extract(ticket);
    if (kept.empty()) continue;
    const Kept& batch = kept.mapped();
    if (is_of_calls(batch.slot)) {
      calls_sent(batch.slot, static_cast<std::uint32_t>(batch.used));
    } else if (batch.slot != wire::no_slot) {
      arena_.give_back(batch.slot, batch.used);
    }
    count_as_safe(batch.rows);
  }
  // The rest is for salvage.
  if (!channel_.alive()) kept_.clear();
  return some;
}

bool Delivery::keep(std::uint32_t slot, const Batch& batch) {
  // While the batch is copied over the records, the slot holds neither.
  const RowCounts rows = packed_rows();
  count_as_lost(rows);
  const bool kept = arena_.keep(slot, batch.pieces());
  count_as_safe(rows);
  return kept;
}

// Each thread that makes CUDA calls fills a slot. Programs with more threads than reserved slots
// are rare, and what CUPTI drops for lack of a slot is counted too.
bool Delivery::may_keep() const {
  const std::uint32_t for_cupti = std::max(arena_.slot_count() / 8, 2u);
  return (channel_.stalled() || channel_.closed_by_target()) && arena_.free_slots() >= for_cupti;
}

Delivery::RowCounts Delivery::packed_rows() const {
  RowCounts counts;
  for (std::size_t kind = 0; kind < packer_.rows().size(); ++kind) {
    if (const std::uint32_t count = packer_.rows()[kind].count) counts.emplace_back(kind, count);
  }
  return counts;
}

void Delivery::count_as_lost(const RowCounts& rows) {
  for (const auto& [kind, count] : rows) arena_.ledger().discarded[kind].fetch_add(count);
}

void Delivery::count_as_safe(const RowCounts& rows) {
  for (const auto& [kind, count] : rows) arena_.ledger().discarded[kind].fetch_sub(count);
}

}  // namespace gpuprof::collect
