// PyTorch's snapshots: their pickles, sound and spoiled, and the moment at which a process had the
// segments. tests/cli/test_memory_torch.py has those that Python writes.
#include <catch2/catch.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/compute/memory/torch_tables.hpp"

using namespace gpuprof;
using namespace gpuprof::memory;

namespace {

std::string word(const std::string& text) {
  return "\x8c" + std::string(1, static_cast<char>(text.size())) + text + "\x94";
}
std::string number(std::uint64_t value) {
  std::string bytes("\x8a\x08", 2);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string block(std::uint64_t size, const char* state) {
  return "}\x94(" + word("size") + number(size) + word("state") + word(state) + "u";
}
std::string segment(std::uint64_t device, std::uint64_t address, std::uint64_t size,
                    const std::string& blocks) {
  return "}\x94(" + word("device") + number(device) + word("address") + number(address) +
         word("total_size") + number(size) + word("blocks") + "]\x94(" + blocks + "eu";
}
std::string snapshot(const std::string& segments) {
  return "\x80\x04}\x94(" + word("segments") + "]\x94(" + segments + "eu.";
}
const std::string sound =
    snapshot(segment(1, 0x1000, 100, block(60, "active_allocated") + block(40, "inactive")) +
             segment(0, 0x9000, 50, block(50, "active_awaiting_free")));

TorchSnapshot read(const std::string& pickle) {
  std::istringstream in(pickle);
  return read_torch_snapshot(in, "snapshot", [] {});
}

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

TEST_CASE("torch snapshot: segments by device and address, with sums of their blocks") {
  const TorchSnapshot read_one = read(sound);
  REQUIRE(read_one.segments.size() == 2);
  const TorchSegment &first = read_one.segments[0], &second = read_one.segments[1];
  CHECK((first.device == 0 && first.address == 0x9000 && first.active == 50));
  CHECK((first.allocated == 0 && first.requested == 50 && first.free() == 0));
  CHECK((second.device == 1 && second.allocated == 60 && second.largest_free == 40));
  CHECK_FALSE(read_one.taken_at.has_value());
}

TEST_CASE("torch snapshot: spoiled ones end in segments or a refusal") {
  std::size_t refused = 0;
  const auto attempt = [&](const std::string& pickle) {
    try {
      for (const TorchSegment& each : read(pickle).segments) {
        REQUIRE(each.active <= each.bytes);
        REQUIRE(each.end() >= each.address);
      }
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::import_failed);
      ++refused;
    }
  };
  for (std::size_t place = 0; place < sound.size(); ++place) {
    attempt(sound.substr(0, place));
    for (int value = 0; value < 256; ++value) {
      std::string spoiled = sound;
      spoiled[place] = static_cast<char>(value);
      attempt(spoiled);
    }
  }
  CHECK(refused > sound.size());
}

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
