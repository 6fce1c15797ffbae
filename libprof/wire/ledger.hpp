// A collector's counters, kept where the launcher finds them when the stream is over: in the first
// page of the arena (libprof/collect/arena.hpp), which outlives the socket and the target.
//
// The collector writes atomically, from any thread. The launcher reads the file; its content may be
// forged, so it is treated as plain numbers and nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libprof/wire/messages.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::wire {

// Where the ledger begins in the arena's file, in bytes; it ends with the page.
inline constexpr std::size_t ledger_offset = 1024;
inline constexpr std::size_t ledger_end = 4096;

// Changes with the layout: a reader of another layout finds no ledger.
inline constexpr std::uint64_t ledger_magic = 0x33306764656c7067;  // "gpledg03"

// Counted once per process; the order defines the layout.
enum class Count : std::size_t {
  records_packed,
  records_dropped_by_cupti,
  unknown_records,
  slots_exhausted,
  clients_turned_away,
  cupti_errors,
  graphs_not_traced,
  profiler_kernels,
  // ns on threads of the target's, and what they were for.
  cost_api,
  cost_launches,
  cost_nvtx,
  cost_memory,
  cost_contexts,
  cost_flush,
  cost_samples,
  cost_start,
  cost_end,
  // ns of the processor on CUPTI's threads and the collector's.
  background_packing,
  background_flush,
  background_samples,
  bytes_sent,
  budget_cuts,
};

struct CountInfo {
  schema::StatisticName name;
  bool told_when_zero;
  std::string_view kind = "";
};
inline constexpr std::array counts{
    CountInfo{"records_packed", true},          CountInfo{"records_dropped_by_cupti", true},
    CountInfo{"unknown_records", true},         CountInfo{"slots_exhausted", true},
    CountInfo{"clients_turned_away", true},     CountInfo{"cupti_errors", true},
    CountInfo{"graphs_not_traced", false},      CountInfo{"profiler_kernels", false},
    CountInfo{"cost_ns", false, "api"},         CountInfo{"cost_ns", false, "launches"},
    CountInfo{"cost_ns", false, "nvtx"},        CountInfo{"cost_ns", false, "memory"},
    CountInfo{"cost_ns", false, "contexts"},    CountInfo{"cost_ns", false, "flush"},
    CountInfo{"cost_ns", false, "samples"},     CountInfo{"cost_ns", false, "start"},
    CountInfo{"cost_ns", false, "end"},         CountInfo{"background_ns", false, "packing"},
    CountInfo{"background_ns", false, "flush"}, CountInfo{"background_ns", false, "samples"},
    CountInfo{"cost_bytes", false, "sent"},     CountInfo{"budget_cuts", false},
};
static_assert(counts.size() == static_cast<std::size_t>(Count::budget_cuts) + 1);

// Activity kinds that are counted individually.
inline constexpr std::size_t ledger_kinds = 128;

struct Ledger {
  std::uint64_t magic;               // written last
  std::atomic<std::uint64_t> ended;  // 1: the process began to end in order, as with goodbye
  std::array<std::atomic<std::uint64_t>, counts.size()> counted;
  // Discarded records: delivered by CUPTI and lost by us, by kind. Records in transit, in memory
  // that dies with the process, are included until they are in the socket.
  std::array<std::atomic<std::uint64_t>, ledger_kinds> discarded;

  void add(Count what, std::uint64_t value = 1) {
    counted[static_cast<std::size_t>(what)].fetch_add(value, std::memory_order_relaxed);
  }
  std::uint64_t get(Count what) const {
    return counted[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  void set(Count what, std::uint64_t value) {
    counted[static_cast<std::size_t>(what)].store(value, std::memory_order_relaxed);
  }
};
static_assert(ledger_offset + sizeof(Ledger) <= ledger_end);

struct LedgerContent {
  bool ended = false;
  std::vector<Statistic> statistics;
};

// For the collector's own statistics frames.
LedgerContent read_ledger(const Ledger& ledger);
// From the arena file of another process. nullopt: it has no ledger, or is not a memory file, and
// reading it might block.
std::optional<LedgerContent> read_ledger(int arena_file);

}  // namespace gpuprof::wire
