// The moment at which a process had the segments of a PyTorch snapshot.
// tests/cli/test_memory_torch.py reads whole snapshots.
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "libprof/compute/memory/torch_tables.hpp"

using namespace gpuprof;
using namespace gpuprof::memory;

namespace {

constexpr std::int32_t device_memory = 3;

Operation operation(std::int64_t time, std::int64_t process, std::int64_t address,
                    std::int64_t bytes, std::int32_t kind = device_memory) {
  return {.time = time,
          .process = process,
          .address = address,
          .bytes = bytes,
          .kind = kind,
          .what = bytes == 0 ? Operation::What::release : Operation::What::allocation};
}

Overlay laid(const std::vector<Operation>& operations, const std::vector<TorchSegment>& segments,
             std::optional<std::int64_t> time = {}, std::optional<std::int64_t> process = {}) {
  return lay_over(
      [&](const std::function<void(const Operation&)>& visit) {
        for (const Operation& each : operations) visit(each);
      },
      segments, time, process);
}

TorchSegment at(std::int64_t address, std::int64_t bytes) {
  return {.device = 0, .address = address, .bytes = bytes, .type = {}};
}

}  // namespace

TEST_CASE("torch overlay: the first moment at which most of the segments is there") {
  const std::vector<Operation> operations{
      operation(10, 7, 0x1000, 0x100), operation(20, 7, 0x5000, 0x40),
      operation(30, 7, 0x2000, 0x100), operation(40, 7, 0x6000, 0x10),
      operation(50, 7, 0x1000, 0),     operation(60, 8, 0x1000, 0x80)};
  const Overlay overlay = laid(operations, {at(0x1000, 0x100), at(0x2000, 0x100)});
  CHECK(overlay.process == 7);
  CHECK(overlay.time == 30);
  CHECK(overlay.ranges.size() == 3);
  CHECK(overlay.in_use.at(0) == 0x240);

  CHECK(laid(operations, {at(0x1000, 0x100)}, 60).process == 8);
  CHECK(laid(operations, {at(0x1000, 0x100)}, 60).in_use.at(0) == 0x80);
  CHECK(laid(operations, {at(0x1000, 0x100)}, {}, 8).time == 60);
  CHECK_FALSE(laid(operations, {at(0x7000, 0x100)}).process.has_value());
}

TEST_CASE("torch overlay: which of two processes that had the same addresses has to be said") {
  const std::vector<Operation> operations{operation(10, 7, 0x1000, 0x100),
                                          operation(20, 8, 0x1000, 0x100)};
  CHECK_THROWS_WITH(laid(operations, {at(0x1000, 0x100)}),
                    "processes 7 and 8 had memory at the addresses of the snapshot");
  CHECK(laid(operations, {at(0x1000, 0x100)}, {}, 8).process == 8);
}

TEST_CASE("torch overlay: memory of cuMemCreate counts once, and lies where it is mapped") {
  const std::vector<Operation> operations{
      operation(10, 7, 1, 0x200, created_kind), operation(20, 7, 0x1000, 0x100, mapped_kind),
      operation(30, 7, 0x1100, 0x100, mapped_kind), operation(40, 7, 0x1000, 0, mapped_kind)};
  const Overlay overlay = laid(operations, {at(0x1000, 0x200)});
  CHECK(overlay.time == 30);
  CHECK(overlay.ranges.size() == 2);
  CHECK(overlay.in_use.at(0) == 0x200);
  CHECK(laid(operations, {at(0x1000, 0x200)}, 40).ranges.size() == 1);
}
