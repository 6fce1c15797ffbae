#include <cupti.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "libprof/collect/delivery.hpp"
#include "libprof/collect/strings.hpp"
#include "tests/unit/launcher_end.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

constexpr std::size_t slot_bytes = 64 << 10;

// As CUPTI's: records one behind the other, up to one whose kind is 0.
CUptiResult CUPTIAPI next_record(std::uint8_t* buffer, std::size_t size, CUpti_Activity** record) {
  std::uint8_t* at = buffer;
  if (*record) {
    at = reinterpret_cast<std::uint8_t*>(*record);
    at += (*record)->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? sizeof(CUpti_ActivityAPI)
                                                         : sizeof(CUpti_ActivityMarker2);
  }
  if (at + sizeof(CUpti_ActivityKind) > buffer + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return (*record)->kind == CUPTI_ACTIVITY_KIND_INVALID ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

class MadeArena : public Arena {
 public:
  MadeArena(std::uint32_t slot_count) { REQUIRE(create(slot_count, slot_bytes)); }
};

// A collector as far as delivery goes, and a CUPTI that fills its buffers.
class DeliveryTest {
 protected:
  DeliveryTest() { REQUIRE(channel.adopt(launcher.collectors_end())); }

  // Buffers of `calls` calls each, with a marker whose text is new.
  void fill(int buffers, int calls = 1000) {
    for (int i = 0; i < buffers; ++i) {
      std::byte* const bytes = arena.lend();
      REQUIRE(bytes);  // CUPTI always has one
      std::size_t used = 0;
      const auto add = [&](auto record) {
        std::memcpy(bytes + used, &record, sizeof record);
        used += sizeof record;
        ++made[record.kind];
      };
      texts.push_back(std::make_unique<std::string>("mark " + std::to_string(texts.size())));
      CUpti_ActivityMarker2 mark{};
      mark.kind = CUPTI_ACTIVITY_KIND_MARKER;
      mark.name = texts.back()->c_str();
      add(mark);
      CUpti_ActivityAPI call{};
      call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
      for (int n = 0; n < calls; ++n) {
        call.correlationId = ++correlation;
        add(call);
      }
      delivery.take(arena.completed(bytes), used);
    }
  }

  // Calls as a thread of the target records them.
  void call(int times) {
    for (int i = 0; i < times; ++i) {
      if (!of_thread || header().used.load() + sizeof(CUpti_ActivityAPI) > arena.call_slot_size()) {
        if (of_thread) header().state.store(SlotState::calls_done);
        of_thread = arena.lend_calls({});
        REQUIRE(of_thread);
      }
      CUpti_ActivityAPI record{};
      record.kind = CUPTI_ACTIVITY_KIND_DRIVER;
      record.correlationId = ++correlation;
      const std::uint32_t used = header().used.load();
      std::memcpy(arena.slot(*of_thread) + used, &record, sizeof record);
      header().used.store(used + sizeof record);
      ++made[record.kind];
    }
  }
  SlotHeader& header() { return arena.slot_header(*of_thread); }
  std::uint32_t slots_of_calls() const {
    std::uint32_t count = 0;
    for (std::uint32_t slot = arena.slot_count(); slot < arena.all_slots(); ++slot) {
      count += arena.slot_header(slot).state.load() != SlotState::free;
    }
    return count;
  }

  void read(const wire::Frame& frame) {
    const auto batch = wire::decode_batch(frame.payload());
    REQUIRE(batch);
    for (const wire::Block& block : batch->blocks) {
      if (block.table == wire::string_block) {
        const auto decoded = wire::decode_strings(block);
        REQUIRE(decoded);
        for (const wire::WireString& string : *decoded) known[string.id] = string.text;
        continue;
      }
      delivered[block.table] += block.rows;
      if (block.table != CUPTI_ACTIVITY_KIND_MARKER) continue;
      // flags, timestamp, id, objectKind, objectId, name …: as schema/activity/markers.hpp has them
      constexpr std::size_t name_at = 4 + 8 + 4 + 4 + 12;
      const auto id = wire::load<std::uint32_t>(block.bytes.data() + name_at);
      REQUIRE(known.contains(id));  // strings come before their rows
      names.push_back(known[id]);
    }
  }
  void read_all() {
    for (const wire::Frame& frame : launcher.read_all([&] { return delivery.resume(); })) {
      read(frame);
    }
  }

  std::map<std::uint32_t, std::uint64_t> discarded() {
    std::map<std::uint32_t, std::uint64_t> counts;
    for (std::uint32_t kind = 0; kind < wire::ledger_kinds; ++kind) {
      if (const auto count = arena.ledger().discarded[kind].load()) counts[kind] = count;
    }
    return counts;
  }
  // Nothing twice, nothing in silence.
  void check_sums() {
    auto sums = delivered;
    for (const auto& [kind, count] : discarded()) sums[kind] += count;
    CHECK(sums == made);
  }

  static constexpr std::uint32_t slots = 16;
  std::optional<std::uint32_t> of_thread;                  // the slot that call() writes to
  std::map<std::uint32_t, std::uint64_t> made, delivered;  // by kind
  std::vector<std::unique_ptr<std::string>> texts;
  std::map<std::uint32_t, std::string> known;
  std::vector<std::string> names;
  std::uint32_t correlation = 0;

  test::LauncherEnd launcher;
  Channel channel{{.patience = std::chrono::milliseconds(1)}};
  MadeArena arena{slots};
  LiveStrings strings{arena};
  Packer packer{130500, strings, Packer::Records::live};
  Delivery delivery{arena, channel, packer, &next_record};
};

}  // namespace

TEST_CASE_METHOD(DeliveryTest, "buffers are sent and given back while the launcher reads") {
  for (int i = 0; i < 100; ++i) {
    fill(1);
    read_all();
    REQUIRE(arena.free_slots() == slots);
  }
  CHECK(delivered == made);
  CHECK(discarded().empty());
}

TEST_CASE_METHOD(DeliveryTest, "while it stands still buffers are kept, then counted by kind") {
  while (!channel.stalled()) fill(1);
  fill(5);
  CHECK(discarded().empty());
  CHECK(arena.free_slots() < slots - 4);
  fill(200);
  CHECK(arena.free_slots() >= 2);  // some are CUPTI's at any time
  CHECK(discarded().size() == 2);
  read_all();
  check_sums();
  CHECK(arena.free_slots() == slots);
  // What was kept came in order, and each row with its text.
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == *texts[i]);
  // And it goes on as if nothing had been.
  const auto before = discarded();
  fill(10);
  read_all();
  check_sums();
  CHECK(discarded() == before);
}

TEST_CASE_METHOD(DeliveryTest,
                 "what was kept is in the arena, for a launcher that reads too late") {
  while (!channel.stalled()) fill(1);
  fill(200);
  // The target dies here. What is whole in the socket arrives, the rest is taken from the arena.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> received;
  while (auto frame = launcher.read()) {
    const auto header = wire::load<wire::BatchHeader>(frame->bytes.get());
    received.emplace_back(header.slot, header.generation);
    read(*frame);
  }
  std::map<std::uint64_t, std::uint32_t> kept;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const SlotHeader& header = arena.slot_header(slot);
    if (std::ranges::count(received, std::pair(slot, header.generation.load()))) continue;
    if (header.state.load() == SlotState::packed) kept[header.turn] = slot;
  }
  CHECK(kept.size() > 1);
  for (const auto& [turn, slot] : kept) {
    read(wire::make_frame(wire::FrameType::batch, 0, arena.kept(slot)));
  }
  check_sums();
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == *texts[i]);
}

TEST_CASE_METHOD(DeliveryTest, "own records that wait are counted as lost until they are out") {
  while (!channel.stalled()) fill(1);
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  packer.add(reinterpret_cast<const CUpti_Activity*>(&call));
  ++made[CUPTI_ACTIVITY_KIND_RUNTIME];
  delivery.send_own();
  CHECK(discarded()[CUPTI_ACTIVITY_KIND_RUNTIME] == 1);
  read_all();
  CHECK(discarded().empty());
  check_sums();
}

TEST_CASE_METHOD(DeliveryTest, "calls are sent while their thread goes on") {
  for (int i = 0; i < 100; ++i) {
    call(i);
    delivery.take_calls();
    read_all();
    CHECK(delivered == made);
    CHECK(slots_of_calls() <= 2);
  }
  header().state.store(SlotState::calls_done);
  delivery.take_calls();
  read_all();
  CHECK(slots_of_calls() == 0);
  check_sums();
}

TEST_CASE_METHOD(DeliveryTest, "calls wait in their slots while the launcher stands still") {
  while (!channel.stalled()) fill(1);
  call(20'000);
  delivery.take_calls();
  CHECK(slots_of_calls() > 10);
  read_all();
  delivery.take_calls();
  read_all();
  check_sums();
  CHECK(slots_of_calls() == 1);
  // Where one of their own batches is what fills the socket.
  while (!channel.stalled()) {
    call(1000);
    delivery.take_calls();
  }
  call(1000);
  while (delivered != made) {
    read_all();
    delivery.take_calls();
  }
  CHECK(slots_of_calls() == 1);
  CHECK(discarded().empty());
}

TEST_CASE_METHOD(DeliveryTest, "where there are no new calls nothing is sent") {
  call(3);
  delivery.take_calls();
  CHECK(launcher.read());
  delivery.take_calls();
  CHECK_FALSE(launcher.read());
  // A thread may leave a slot whose records were all sent before.
  header().state.store(SlotState::calls_done);
  delivery.take_calls();
  CHECK_FALSE(launcher.read());
  CHECK(slots_of_calls() == 0);
}

TEST_CASE_METHOD(DeliveryTest, "the arena says which calls are not on the wire") {
  call(10);
  delivery.take_calls();
  call(5);
  const std::uint32_t record = sizeof(CUpti_ActivityAPI);
  CHECK(header().sent.load() == 10 * record);
  CHECK(header().used.load() == 15 * record);
  const auto frame = launcher.read();
  REQUIRE(frame);
  const auto batch = wire::load<wire::BatchHeader>(frame->bytes.get());
  CHECK(batch.slot == *of_thread);
  CHECK(batch.generation == header().sending.load().generation);
  CHECK(header().sending.load().end == 10 * record);
}

TEST_CASE_METHOD(DeliveryTest, "when the launcher has gone everything is counted") {
  fill(3);
  read_all();
  launcher.hang_up();
  fill(20);
  CHECK(!channel.alive());
  check_sums();
  CHECK(arena.free_slots() == slots);
}
