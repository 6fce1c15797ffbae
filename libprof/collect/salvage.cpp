#include "libprof/collect/salvage.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/extra/launch_stacks.hpp"
#include "libprof/collect/made_records.hpp"
#include "libprof/collect/nccl_operations.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/record_sizes.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/cupti/api.hpp"

namespace gpuprof::collect {
namespace {

// CUPTI sets this bit in the kind of a record it has begun but not finished: a kernel that was
// launched and whose times are not known yet. Seen in CUPTI 13.0 and 13.5; undocumented.
constexpr std::uint32_t unfinished = 0x80000000;

// The kinds the run collects. Anything else in a slot is not a record, but the remains of one.
using Kinds = std::array<bool, kind_limit>;

// Calls f(record) for everything in a slot, finished or not. Returns how many records were
// unfinished; they are marked as finished in the process.
template <class F>
std::uint64_t for_each_record(const cupti::Api& cupti, RecordSizes& sizes, const Kinds& collected,
                              std::byte* slot, std::size_t size, F&& f) {
  std::uint64_t begun = 0;
  std::size_t at = 0;
  while (at + sizeof(std::uint64_t) <= size) {
    std::uint32_t kind;
    std::memcpy(&kind, slot + at, sizeof kind);
    const bool finished = !(kind & unfinished);
    kind &= ~unfinished;
    if (kind >= collected.size() || !collected[kind]) break;
    if (!finished) {
      // Its name, position and correlation id are present, its times are 0: a row worth having.
      std::memcpy(slot + at, &kind, sizeof kind);
      ++begun;
    }
    const std::size_t length = sizes.of(kind);
    if (length == 0 || length > size - at) break;
    CUpti_Activity* record = nullptr;
    if (cupti.cuptiActivityGetNextRecord(reinterpret_cast<std::uint8_t*>(slot + at), size - at,
                                         &record) != CUPTI_SUCCESS) {
      break;
    }
    f(record);
    at += length;
  }
  return begun;
}

using Kernel = CUpti_ActivityKernel13;

// Null for anything else.
const Kernel* as_kernel(const CUpti_Activity* record) {
  return is_kernel(record->kind) ? reinterpret_cast<const Kernel*>(record) : nullptr;
}

// The launcher reads, or it is gone, or it kills us.
constexpr Channel::Limits limits{.patience = std::chrono::hours(24)};

bool send_batch(Channel& channel, Packer& packer, wire::BatchHeader header) {
  const Batch batch(packer, header);
  const bool sent = channel.send(wire::FrameType::batch, batch.pieces()) == Channel::Sent::whole;
  packer.clear();
  return sent;
}

// Sends a batch that waited in its slot.
bool send_kept(Channel& channel, const Arena& arena, std::uint32_t slot) {
  const std::span<const std::byte> batch = arena.kept(slot);
  if (batch.size() < sizeof(wire::BatchHeader)) return true;
  auto header = wire::load<wire::BatchHeader>(batch.data());
  header.flags |= wire::batch_salvaged;
  const std::span<const std::byte> rest = batch.subspan(sizeof header);
  const iovec pieces[] = {{&header, sizeof header},
                          {const_cast<std::byte*>(rest.data()), rest.size()}};
  return channel.send(wire::FrameType::batch, pieces) == Channel::Sent::whole;
}

// Records of calls that are in no batch that arrived.
struct LeftCalls {
  std::uint32_t slot;
  std::size_t from, end;  // bytes
};

// `received`: the generation of each slot's last batch.
std::vector<LeftCalls> find_left_calls(const Arena& arena,
                                       const std::map<std::uint32_t, std::uint32_t>& received) {
  std::vector<LeftCalls> left;
  for (std::uint32_t slot = arena.slot_count(); slot < arena.all_slots(); ++slot) {
    const SlotHeader& header = arena.slot_header(slot);
    const SlotState state = header.state.load();
    if (state != SlotState::calls && state != SlotState::calls_done) continue;
    const CallBatch last = header.sending.load();
    const auto arrived = received.find(slot);
    const bool has_arrived = arrived != received.end() && arrived->second == last.generation;
    const std::size_t from = has_arrived ? last.end : header.sent.load();
    const std::size_t end = std::min<std::size_t>(header.used.load(), arena.call_slot_size());
    if (from < end && from % sizeof(std::uint64_t) == 0) left.push_back({slot, from, end});
  }
  return left;
}

}  // namespace

bool salvage(int arena_file, int socket, const wire::Fields& config) {
  Channel channel(limits);
  Arena arena;
  if (!channel.adopt(socket) || !arena.attach(arena_file)) return false;
  const std::vector<std::uint32_t> pairs = config.numbers("received");
  std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) received[pairs[i]] = pairs[i + 1];
  std::vector<std::uint32_t> left;
  std::map<std::uint64_t, std::uint32_t> kept;  // by turn
  for (std::uint32_t slot = 0; slot < arena.slot_count(); ++slot) {
    const SlotHeader& header = arena.slot_header(slot);
    const SlotState state = header.state.load();
    if (state == SlotState::free || state == SlotState::withdrawn) continue;
    // The target may have died after sending the batch and before freeing the slot.
    const auto last = received.find(slot);
    if (last != received.end() && last->second == header.generation.load()) continue;
    if (state == SlotState::packed) {
      kept[header.turn] = slot;
    } else {
      left.push_back(slot);
    }
  }
  const std::vector<LeftCalls> left_calls = find_left_calls(arena, received);
  if (left.empty() && kept.empty() && left_calls.empty()) return true;

  cupti::Api cupti;
  std::string error;
  if (!cupti::open(std::string(config.text("cupti")).c_str(), cupti, error)) return false;

  LeftStrings strings(arena);
  Packer packer(cupti.version, strings, Packer::Records::left_behind);
  packer.leave_out_threads(arena);
  Kinds collected{};
  for (const std::uint32_t kind : config.numbers("kinds")) {
    if (kind < collected.size()) collected[kind] = true;
  }
  for (std::size_t kind = 0; kind < collected.size(); ++kind) packer.want(kind, collected[kind]);
  const bool measured = !config.text("metrics").empty();
  if (measured) packer.leave_out_profiler();
  // Kernels in graphs are recorded as concurrent ones even when others are traced one at a time.
  collected[CUPTI_ACTIVITY_KIND_KERNEL] |= collected[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
  collected[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = collected[CUPTI_ACTIVITY_KIND_KERNEL];
  // Launch calls are traced for their correlation ids even when their rows are not wanted.
  collected[CUPTI_ACTIVITY_KIND_DRIVER] = collected[CUPTI_ACTIVITY_KIND_RUNTIME] = true;
  RecordSizes sizes(cupti.cuptiActivityGetNextRecord);
  // The tables precede the first batch, and may not have arrived either.
  Stream stream(channel);
  if (received.empty() &&
      !(stream.define(wire_tables(cupti.version)) && stream.define(LaunchStacks::tables()) &&
        stream.define(NcclOperations::tables()))) {
    return false;
  }
  // They contain their own strings, in this order.
  for (const auto& [turn, slot] : kept) {
    if (!send_kept(channel, arena, slot)) return false;
  }
  for (const LeftCalls& calls : left_calls) {
    MadeRecords(arena, calls.slot).for_each(calls.from, calls.end, [&](const auto& made) {
      packer.add_made(made);
    });
    // No batch of the target's has this number.
    const std::uint32_t generation = arena.slot_header(calls.slot).generation.load() + 1;
    if (!send_batch(channel, packer, {calls.slot, generation, 0, wire::batch_salvaged})) {
      return false;
    }
  }
  // Names first: any launch of a kernel provides the name for all its records. CUPTI's range
  // profiler adds one of its own to each launch, with the same correlation id, whose record comes
  // second (measured).
  std::uint64_t unfinished_records = 0;
  std::unordered_map<std::uint32_t, const Kernel*> first_of_launch;
  for (const std::uint32_t slot : left) {
    unfinished_records +=
        for_each_record(cupti, sizes, collected, arena.slot(slot), arena.slot_size(),
                        [&](const CUpti_Activity* record) {
                          const Kernel* kernel = as_kernel(record);
                          if (!kernel) return;
                          if (measured && kernel->graphNodeId == 0) {
                            first_of_launch.try_emplace(kernel->correlationId, kernel);
                          } else {
                            strings.learn(kernel->name, kernel->correlationId);
                          }
                        });
  }
  for (const auto& [correlation, kernel] : first_of_launch) {
    strings.learn(kernel->name, correlation);
  }
  const auto is_targets = [&](const CUpti_Activity* record) {
    const Kernel* kernel = as_kernel(record);
    return !measured || !kernel || kernel->graphNodeId != 0 ||
           first_of_launch.at(kernel->correlationId) == kernel;
  };
  for (const std::uint32_t slot : left) {
    for_each_record(cupti, sizes, collected, arena.slot(slot), arena.slot_size(),
                    [&](const CUpti_Activity* record) {
                      if (is_targets(record)) packer.add(record);
                    });
    const std::uint32_t generation = arena.slot_header(slot).generation.load();
    if (!send_batch(channel, packer, {slot, generation, 0, wire::batch_salvaged})) return false;
  }

  wire::Encoder statistics;
  wire::encode(statistics, std::vector<wire::Statistic>{
                               {"", "incomplete_records", unfinished_records},
                               {"", "strings_lost", strings.lost()},
                           });
  return channel.send(wire::FrameType::statistics, statistics) == Channel::Sent::whole;
}

}  // namespace gpuprof::collect
