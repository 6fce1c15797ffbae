#include "libprof/collect/arena.hpp"

#include <sys/mman.h>

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

TEST_CASE("the memory of the next slots of calls is made ahead") {
  Arena arena;
  REQUIRE(arena.create(4, 1 << 16));
  const auto is_made = [&](std::uint32_t number) {
    unsigned char pages[16]{};
    REQUIRE(arena.call_slot_size() == 16 * 4096);
    REQUIRE(mincore(arena.slot(arena.slot_count() + number), arena.call_slot_size(), pages) == 0);
    return std::ranges::all_of(pages, [](unsigned char page) { return page & 1; });
  };
  // Neither before Linux 5.14 nor in an emulator.
  constexpr int populate_for_writing = 23;
  std::byte* const last = arena.slot(arena.all_slots() - 1);
  if (madvise(last, arena.call_slot_size(), populate_for_writing) != 0 ||
      !is_made(arena.all_slots() - arena.slot_count() - 1)) {
    return;
  }
  arena.prepare_calls(2);
  CHECK(is_made(0));
  CHECK(is_made(1));
  CHECK_FALSE(is_made(2));
  const auto slot = arena.lend_calls({.process = 1, .thread = 1});
  REQUIRE(slot == arena.slot_count());
  arena.slot_header(*slot).used.store(8);
  for (int i = 0; i < 2; ++i) arena.prepare_calls(2);
  CHECK(is_made(2));
  CHECK_FALSE(is_made(3));
}
