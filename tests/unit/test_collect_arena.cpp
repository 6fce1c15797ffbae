#include "libprof/collect/arena.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "libprof/collect/strings.hpp"

using namespace gpuprof;
using collect::Arena;
using collect::SlotState;

TEST_CASE("an arena that was reset is as new, but for what CUPTI has of it") {
  Arena arena;
  REQUIRE(arena.create(6, 1 << 16));
  collect::LaunchNames names(arena);
  std::byte* lent = arena.lend();
  const std::uint32_t ours = arena.completed(arena.lend());
  const std::uint32_t withdrawn = arena.completed(arena.lend());
  arena.withdraw(withdrawn);
  const std::uint32_t packed = arena.completed(arena.lend());
  char batch[] = "a batch";
  const iovec piece{batch, sizeof batch};
  REQUIRE(arena.keep(packed, {&piece, 1}));
  std::memset(arena.slot(ours), 1, arena.slot_size());
  names.note("kernel", 7);
  collect::LiveStrings strings(arena);
  CHECK(strings.intern("text") != 0);
  arena.own_threads()[0].store(9);
  arena.ledger().add(wire::Count::slots_exhausted, 3);
  arena.ledger().discarded[10].store(4);
  arena.ledger().ended.store(1);

  arena.reset();
  names.start_over();
  CHECK(arena.free_slots() == 5);
  for (const std::uint32_t slot : {ours, withdrawn, packed}) {
    CHECK(arena.slot_header(slot).state.load() == SlotState::free);
    CHECK(std::all_of(arena.slot(slot), arena.slot(slot) + arena.slot_size(),
                      [](std::byte byte) { return byte == std::byte{}; }));
  }
  CHECK(arena.own_threads()[0].load() == 0);
  CHECK(arena.ledger().magic == wire::ledger_magic);
  const auto ledger = wire::read_ledger(arena.ledger());
  CHECK(!ledger.ended);
  for (const auto& statistic : ledger.statistics) CHECK(statistic.value == 0);
  for (const auto& table : {arena.strings(), arena.launch_names()}) {
    CHECK(std::ranges::all_of(table.entries,
                              [](const auto& entry) { return entry.pointer.load() == 0; }));
  }
  CHECK(
      std::ranges::all_of(arena.launches(), [](const auto& launch) { return launch.load() == 0; }));
  // The slot that was out comes back, and all can be lent.
  arena.give_back(arena.completed(lent), 0);
  for (int i = 0; i < 6; ++i) CHECK(arena.lend() != nullptr);
  CHECK(arena.lend() == nullptr);
}
