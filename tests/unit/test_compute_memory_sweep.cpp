// One sweep over allocations and releases: peaks, owners, what is left, pools, curves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/compute/memory/driver_memory.hpp"
#include "libprof/compute/memory/sweep.hpp"

using namespace gpuprof;
using namespace gpuprof::memory;

namespace {

using What = Operation::What;

constexpr std::int32_t device_memory = 3, pinned = 2, static_variable = 6;

Operation allocated(std::int64_t time, std::int64_t address, std::int64_t bytes,
                    std::int64_t owner = 0) {
  return {.time = time,
          .process = 7,
          .address = address,
          .bytes = bytes,
          .owner = owner,
          .kind = device_memory};
}

Operation released(std::int64_t time, std::int64_t address, std::int64_t bytes = 0) {
  Operation operation = allocated(time, address, bytes);
  operation.what = What::release;
  return operation;
}

Operation in_pool(Operation operation, std::int64_t size, std::int64_t used) {
  operation.pool = 0x77;
  operation.pool_type = 1;
  operation.pool_size = size;
  operation.pool_used = used;
  return operation;
}

Result swept(const std::vector<Operation>& operations, const Request& request = {}) {
  return sweep(
      [&](const std::function<void(const Operation&)>& visit) {
        for (const Operation& each : operations) visit(each);
      },
      request);
}

Left always_lost(const Place&, std::int64_t) { return Left::lost; }

// "owner:bytes/allocations …" at the peak of the only place.
std::string at_peak(const Result& result) {
  std::string text;
  for (const OwnerUse& owner : result.owners) {
    text += (text.empty() ? "" : " ") + std::to_string(owner.owner) + ":" +
            std::to_string(owner.at_peak) + "/" + std::to_string(owner.at_peak_live);
  }
  return text;
}

}  // namespace

TEST_CASE("memory: the peak is exact, and whose it was, with releases in between") {
  const Result result =
      swept({allocated(10, 0x10, 100, 1), allocated(20, 0x20, 50, 2), released(30, 0x10),
             allocated(40, 0x30, 70, 2), allocated(50, 0x10, 40, 1), released(60, 0x20),
             released(70, 0x30), allocated(80, 0x40, 120, 3)});
  REQUIRE(result.uses.size() == 1);
  const Use& use = result.uses[0];
  CHECK(use.peak == 160);
  CHECK(use.peak_time == 50);
  CHECK(use.peak_live == 3);
  CHECK(use.allocations == 5);
  CHECK(use.allocated == 380);
  CHECK(use.releases == 3);
  CHECK(use.in_use == 160);
  CHECK(use.live == 2);
  // The later 160 are not the first: owner 3 has nothing at the peak.
  CHECK(at_peak(result) == "2:120/2 1:40/1 3:0/0");
  CHECK(result.owners[2].in_use == 120);
}

TEST_CASE("memory: releases of what is not there change nothing, and are counted") {
  const Result result =
      swept({released(5, 0x99, 1000), allocated(10, 0x10, 100), released(20, 0x10, 100),
             released(30, 0x10, 100), allocated(40, 0x20, 30)});
  CHECK(result.uses[0].unknown_releases == 2);
  CHECK(result.uses[0].in_use == 30);
  CHECK(result.uses[0].peak == 100);
}

TEST_CASE("memory: an address that is allocated again takes the place of the old one") {
  const Result result = swept({allocated(10, 0x10, 100, 1), allocated(20, 0x10, 60, 2)});
  CHECK(result.uses[0].replaced == 1);
  CHECK(result.uses[0].in_use == 60);
  CHECK(result.uses[0].peak == 100);
  CHECK(result.uses[0].live == 1);
  CHECK(at_peak(result) == "1:100/1 2:0/0");
}

TEST_CASE("memory: devices, kinds and processes count for themselves") {
  std::vector<Operation> operations{allocated(10, 0x10, 100), allocated(20, 0x10, 50),
                                    allocated(30, 0x10, 7), allocated(40, 0x20, 1000)};
  operations[1].device = 1;
  operations[2].kind = pinned;
  operations[3].process = 8;
  const Result result = swept(operations);
  REQUIRE(result.uses.size() == 4);
  for (const Use& use : result.uses) CHECK(use.replaced == 0);
  REQUIRE(result.devices.size() == 2);
  CHECK(result.devices[0].peak == 1100);  // of both processes, and nothing of the host's memory
  CHECK(result.devices[1].peak == 50);

  // A process that has ended has nothing.
  const Result ended = swept(operations, {.ends = {{.time = 35, .process = 7}}});
  CHECK(ended.devices[0].peak == 1000);
}

TEST_CASE("memory: what is never released, by size and owner, but for static variables") {
  std::vector<Operation> operations{allocated(10, 0x10, 100, 1), allocated(20, 0x20, 100, 1),
                                    allocated(30, 0x30, 8, 1), allocated(40, 0x40, 500, 2)};
  operations[3].kind = static_variable;
  const Request request{
      .left = [](const Place&, std::int64_t time) { return time < 20 ? Left::kept : Left::lost; }};
  const Result result = swept(operations, request);
  REQUIRE(result.remaining.size() == 3);
  CHECK(result.remaining[0].left == Left::kept);
  CHECK(result.remaining[1].left == Left::lost);
  CHECK(result.remaining[1].count == 1);
  CHECK(result.remaining[2].total() == 8);

  const Result together = swept(operations, {.left = always_lost});
  REQUIRE(together.remaining.size() == 2);
  CHECK(together.remaining[0].total() == 200);
  CHECK(together.remaining[0].first == 10);
  CHECK(together.remaining[0].last == 20);
  // Nobody says why: nothing is claimed.
  CHECK(swept(operations).remaining[0].left == Left::alive);
}

TEST_CASE("memory: a pool's reserve, its shrinking and growing again, and its end") {
  Operation trim{.time = 40,
                 .process = 7,
                 .pool = 0x77,
                 .pool_size = 100,
                 .pool_used = 0,
                 .pool_type = 1,
                 .what = What::pool_trimmed};
  std::vector<Operation> operations{
      in_pool(allocated(10, 0x10, 50), 200, 50), in_pool(allocated(20, 0x20, 100), 200, 150),
      in_pool(released(30, 0x10), 200, 100), trim, in_pool(allocated(50, 0x30, 60), 300, 160)};
  Result result = swept(operations);
  REQUIRE(result.pools.size() == 1);
  const PoolUse pool = result.pools[0];
  CHECK(pool.reserved_peak == 300);
  CHECK(pool.used_peak == 160);
  CHECK(pool.unused_peak == 150);
  CHECK(pool.trims == 1);
  CHECK(pool.shrinks == 1);
  CHECK(pool.regrowths == 1);
  CHECK(pool.reserved == 300);
  CHECK(!pool.destroyed);
  CHECK(result.uses[0].place.pool_type == 1);
  CHECK(result.uses[0].in_use == 160);

  operations.push_back({.time = 60, .process = 7, .pool = 0x77, .what = What::pool_destroyed});
  result = swept(operations);
  CHECK(result.pools[0].destroyed);
  CHECK(result.pools[0].reserved == 0);
}

TEST_CASE("memory: a release that names no pool is that of the allocation from it") {
  const Result result = swept({in_pool(allocated(10, 0x10, 50), 200, 50), released(20, 0x10)});
  const auto from_pool =
      std::ranges::find_if(result.uses, [](const Use& use) { return use.place.pool_type == 1; });
  REQUIRE(from_pool != result.uses.end());
  CHECK(from_pool->in_use == 0);
  CHECK(from_pool->live == 0);
  CHECK(result.remaining.empty());
}

TEST_CASE("memory: moments, and allocations in the steady state") {
  Request request{.moments = {{5, 7}, {10, 7}, {25, 7}, {25, 9}, {99, 7}}};
  request.steady[7] = {20, 30};
  const Result result =
      swept({allocated(10, 0x10, 100), allocated(20, 0x20, 11),
             in_pool(allocated(21, 0x30, 5), 10, 5), released(28, 0x10), allocated(30, 0x40, 1)},
            request);
  CHECK(result.moments == std::vector<std::int64_t>{0, 100, 116, 0, 17});
  CHECK(result.uses[0].steady == 1);
  CHECK(result.uses[0].steady_bytes == 11);
}

TEST_CASE("memory: a curve has each part's most and last, also where nothing changes") {
  const Result result = swept({allocated(0, 0x10, 100), allocated(10, 0x20, 50), released(12, 0x20),
                               allocated(100, 0x30, 1)},
                              {.points = 10});
  REQUIRE(result.curves.size() == 1);
  const auto& points = result.curves[0].points;
  REQUIRE(points.size() == 10);
  CHECK(points[0].last == 100);
  CHECK(points[1].most == 150);
  CHECK(points[1].last == 100);
  for (std::size_t i = 2; i < 9; ++i) CHECK(points[i].most == 100);
  CHECK(points[9].last == 101);
}

TEST_CASE("memory: sizes that no sum holds, and nothing at all") {
  constexpr std::int64_t most = INT64_MAX;
  const Result result = swept({allocated(1, 0x10, most), allocated(2, 0x20, most),
                               released(3, 0x10), allocated(most, 0x30, 0)},
                              {.points = 5});
  CHECK(result.uses[0].peak == most);
  CHECK(swept({}, {.points = 5}).uses.empty());
}

namespace {

using Call = MemoryCall;

Call made(std::int64_t time, std::int64_t handle, std::int64_t bytes) {
  return {.time = time,
          .process = 7,
          .device = 1,
          .handle = handle,
          .bytes = bytes,
          .what = Call::What::create};
}

Call of(Call::What what, std::int64_t time, std::int64_t handle, std::int64_t address = 0,
        std::int64_t bytes = 0) {
  return {.time = time,
          .process = 7,
          .device = 1,
          .address = address,
          .handle = handle,
          .bytes = bytes,
          .what = what};
}

struct Applied {
  std::vector<Operation> operations;
  std::vector<VirtualUse> uses;
};

Applied applied(const std::vector<Call>& calls) {
  Applied result;
  DriverMemory memory(
      [&](const Operation& operation, const Call&) { result.operations.push_back(operation); });
  for (const Call& call : calls) memory.apply(call);
  result.uses = memory.uses();
  return result;
}

}  // namespace

TEST_CASE("memory: what cuMemCreate made is there while it has a handle or is mapped") {
  using enum Call::What;
  const Applied all = applied({
      made(10, 1, 64), made(20, 2, 32), of(map, 30, 1, 0x1000, 32), of(map, 31, 1, 0x1020, 32),
      of(release, 40, 1), made(50, 1, 8),  // the handle is given again
      of(unmap, 60, 0, 0x1000, 32), of(release, 70, 2),
      of(unmap, 80, 0, 0x1020, 32),            // only now the 64 are gone
      of(release, 90, 1), of(release, 95, 1),  // what nobody has
  });
  const Result result = swept(all.operations);
  REQUIRE(result.uses.size() == 1);
  const Use& use = result.uses[0];
  CHECK(use.place.kind == created_kind);
  CHECK(use.place.device == 1);
  CHECK(use.peak == 104);
  CHECK(use.peak_time == 50);
  CHECK(use.in_use == 0);
  CHECK(use.releases == 3);
  CHECK(use.unknown_releases == 0);
  REQUIRE(all.uses.size() == 1);
  CHECK(all.uses[0].made_peak == 104);
  CHECK(all.uses[0].mapped_peak == 64);
  CHECK(all.uses[0].unmapped_peak == 96);
  CHECK(all.uses[0].made == 0);
  CHECK(all.uses[0].mapped == 0);
  REQUIRE(result.devices.size() == 1);
  CHECK(result.devices[0].peak == 104);
}

TEST_CASE("memory: a handle got from an address keeps memory as the first does") {
  using enum Call::What;
  const Applied all =
      applied({made(10, 1, 64), of(map, 20, 1, 0x1000, 64), of(retain, 30, 1, 0x1010),
               of(release, 40, 1), of(unmap, 50, 0, 0x1000, 64), of(release, 60, 1)});
  REQUIRE(all.operations.size() == 2);
  CHECK(all.operations[1].what == What::release);
  CHECK(all.operations[1].time == 60);
}

TEST_CASE("memory: registered memory is the host's, and that of another process nobody's twice") {
  using enum Call::What;
  const Applied all = applied({of(register_host, 10, 0, 0x1000, 4096), of(open, 20, 0, 0x9000),
                               of(close, 30, 0, 0x9000), of(unregister_host, 40, 0, 0x1000),
                               of(unregister_host, 50, 0, 0x1000)});
  const Result result = swept(all.operations);
  CHECK(result.devices.empty());
  REQUIRE(result.uses.size() == 2);
  CHECK(result.uses[0].place.kind == registered_kind);
  CHECK(result.uses[0].peak == 4096);
  CHECK(result.uses[0].unknown_releases == 0);
  CHECK(result.uses[1].place.kind == opened_kind);
  CHECK(result.uses[1].allocations == 1);
  CHECK(result.uses[1].peak == 0);
}

TEST_CASE("memory: what cuMemCreate made on the host is no device's") {
  using enum Call::What;
  Call call = made(10, 1, 64);
  call.of_host = true;
  const Applied all = applied({call, made(20, 2, 8), of(release, 30, 1), of(release, 40, 2)});
  const Result result = swept(all.operations);
  REQUIRE(result.uses.size() == 2);
  CHECK(result.uses[0].place.kind == created_on_host_kind);
  CHECK(result.uses[0].peak == 64);
  CHECK(result.uses[0].in_use == 0);
  REQUIRE(result.devices.size() == 1);
  CHECK(result.devices[0].peak == 8);
  REQUIRE(all.uses.size() == 1);
  CHECK(all.uses[0].allocations == 1);
  CHECK(all.uses[0].made_peak == 8);
}

TEST_CASE("memory: what is known of a device at a moment is what all have, pools with the unused") {
  Operation managed = allocated(15, 0x99, 1000);
  managed.kind = 5;
  Operation other = allocated(20, 0x10, 7);
  other.process = 8;
  const Result result =
      swept({allocated(10, 0x10, 100), managed, other, in_pool(allocated(30, 0x20, 40), 512, 40),
             released(50, 0x10)},
            {.moments = {{5, 0, 0}, {12, 0, 0}, {25, 0, 0}, {40, 0, 0}, {60, 0, 0}, {60, 0, 3}}});
  CHECK(result.moments == std::vector<std::int64_t>{0, 100, 107, 107 + 512, 7 + 512, 0});
}

TEST_CASE("memory: whose it was at a moment between the operations") {
  const Result result = swept({allocated(10, 0x10, 100, 1), allocated(20, 0x20, 50, 2),
                               released(30, 0x10), allocated(40, 0x30, 70, 2)},
                              {.looks = {{25, 7}, {35, 7}, {35, 8}, {99, 7}}});
  REQUIRE(result.looks.size() == 4);
  const auto text = [&](std::size_t look) {
    std::string all;
    for (const OwnerShare& share : result.looks[look]) {
      all += std::to_string(share.owner) + ":" + std::to_string(share.bytes) + "/" +
             std::to_string(share.live) + " ";
    }
    return all;
  };
  CHECK(text(0) == "1:100/1 2:50/1 ");
  CHECK(text(1) == "2:50/1 ");
  CHECK(text(2).empty());
  CHECK(text(3) == "2:120/2 ");
}
