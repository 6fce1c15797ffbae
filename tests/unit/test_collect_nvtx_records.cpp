#include "libprof/collect/nvtx_records.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

struct Marker {
  std::uint32_t flags, id, object_kind, process, thread;
  std::uint64_t time;
  std::string name, domain;
};

class NvtxRecordsTest {
 protected:
  NvtxRecordsTest() {
    REQUIRE(arena.create(4, 1 << 16));
    slots.begin(cupti, true);
    records.record(true);
  }

  template <class F>
  void for_each_record(F&& f) const {
    for (std::uint32_t slot = arena.slot_count(); slot < arena.all_slots(); ++slot) {
      const SlotHeader& header = arena.slot_header(slot);
      if (header.state.load() == SlotState::free) continue;
      MadeRecords(arena, slot).for_each(0, header.used.load(), f);
    }
  }
  std::vector<Marker> markers() const {
    std::vector<Marker> all;
    for_each_record([&](const CUpti_Activity* record) {
      if (record->kind != CUPTI_ACTIVITY_KIND_MARKER) return;
      const auto& it = *reinterpret_cast<const CUpti_ActivityMarker2*>(record);
      all.push_back({static_cast<std::uint32_t>(it.flags), it.id,
                     static_cast<std::uint32_t>(it.objectKind), it.objectId.pt.processId,
                     it.objectId.pt.threadId, it.timestamp, it.name ? it.name : "",
                     it.domain ? it.domain : ""});
    });
    return all;
  }
  std::uint64_t lost(int kind) const { return arena.ledger().discarded[kind].load(); }
  NvtxDomain& domain(const char* name = "") { return records.objects().domain(name); }

  CheckedApi cupti;
  Arena arena;
  ThreadSlots slots{arena};
  NvtxRecords records{slots};
};

constexpr std::uint32_t starts = CUPTI_ACTIVITY_FLAG_MARKER_START;
constexpr std::uint32_t ends = CUPTI_ACTIVITY_FLAG_MARKER_END;

}  // namespace

TEST_CASE_METHOD(NvtxRecordsTest, "ranges nest for each domain") {
  CHECK(records.push(domain(), {.message = "a"}) == 0);
  CHECK(records.push(domain("x"), {.message = "b"}) == 0);
  CHECK(records.push(domain(), {.message = "c"}) == 1);
  CHECK(records.pop(domain("x")) == 0);
  CHECK(records.pop(domain()) == 1);
  CHECK(records.pop(domain()) == 0);
  CHECK(records.pop(domain()) < 0);
  const auto all = markers();
  REQUIRE(all.size() == 6);
  CHECK(all[0].flags == starts);
  CHECK(all[0].name == "a");
  CHECK(all[1].domain == "x");
  CHECK(all[2].domain.empty());
  CHECK(all[3].flags == ends);
  CHECK(all[3].id == all[1].id);
  CHECK(all[3].domain == "x");
  CHECK(all[4].id == all[2].id);
  CHECK(all[5].id == all[0].id);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].object_kind == CUPTI_ACTIVITY_OBJECT_THREAD);
    CHECK(all[i].thread == all[0].thread);
    CHECK(all[i].time >= all[i > 0 ? i - 1 : 0].time);
  }
}

TEST_CASE_METHOD(NvtxRecordsTest, "a range of start and end is one of the process") {
  const nvtxRangeId_t id = records.start(domain(), {.message = "a"});
  std::thread([&] { records.end(id, domain()); }).join();
  const auto all = markers();
  REQUIRE(all.size() == 2);
  CHECK(all[0].object_kind == CUPTI_ACTIVITY_OBJECT_PROCESS);
  CHECK(all[1].object_kind == CUPTI_ACTIVITY_OBJECT_PROCESS);
  CHECK(all[0].id == all[1].id);
  CHECK(all[0].id == id);
  CHECK(all[0].thread != all[1].thread);
}

TEST_CASE_METHOD(NvtxRecordsTest, "texts are read at each call, in each slot") {
  char text[16];
  for (int i = 0; i < 10'000; ++i) {
    std::snprintf(text, sizeof text, "%d", i % 7);
    records.push(domain("x"), {.message = text});
    records.pop(domain("x"));
  }
  const auto all = markers();
  REQUIRE(all.size() == 20'000);
  int wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Marker& start = all[2 * static_cast<std::size_t>(i)];
    wrong += start.name != std::to_string(i % 7) || start.domain != "x";
  }
  CHECK(wrong == 0);
}

TEST_CASE_METHOD(NvtxRecordsTest, "a long text is truncated") {
  const std::string text(100'000, 'x');
  records.mark(domain(), {.message = text.c_str()});
  const auto all = markers();
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == std::string(16 << 10, 'x'));
}

TEST_CASE_METHOD(NvtxRecordsTest, "ids are unique among threads") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 600; ++i) records.mark(domain(), {.message = "mark"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint32_t> ids;
  for (const Marker& mark : markers()) ids.insert(mark.id);
  CHECK(ids.size() == 2400);
  CHECK(!ids.contains(0));
}

TEST_CASE_METHOD(NvtxRecordsTest, "what finds no room is counted") {
  nvtxEventAttributes_t event{};
  event.category = 3;
  for (int i = 0; i < 50'000; ++i) records.mark(domain(), {.message = "a", .attributes = &event});
  std::uint64_t data = 0;
  for_each_record([&](const CUpti_Activity* record) {
    data += record->kind == CUPTI_ACTIVITY_KIND_MARKER_DATA;
  });
  CHECK(markers().size() < 50'000);
  CHECK(markers().size() + lost(CUPTI_ACTIVITY_KIND_MARKER) == 50'000);
  CHECK(data + lost(CUPTI_ACTIVITY_KIND_MARKER_DATA) == 50'000);
}

TEST_CASE_METHOD(NvtxRecordsTest, "of ranges that find no room both ends are counted") {
  for (int i = 0; i < 30'000; ++i) {
    records.push(domain(), {.message = "a"});
    records.pop(domain());
    records.end(records.start(domain(), {.message = "b"}), domain());
  }
  CHECK(markers().size() < 120'000);
  CHECK(markers().size() + lost(CUPTI_ACTIVITY_KIND_MARKER) == 120'000);
}

TEST_CASE_METHOD(NvtxRecordsTest, "a payload that is longer than the slot is truncated or lost") {
  const std::vector<char> bytes(100'000);
  const nvtxPayloadData_t payloads[] = {{NVTX_PAYLOAD_ENTRY_TYPE_CHAR, bytes.size(), bytes.data()},
                                        {NVTX_PAYLOAD_ENTRY_TYPE_CHAR, bytes.size(), bytes.data()}};
  records.mark(domain(), {.payloads = {payloads, 1}});
  std::vector<std::uint64_t> sizes;
  for_each_record([&](const CUpti_Activity* record) {
    if (record->kind != CUPTI_ACTIVITY_KIND_MARKER_DATA) return;
    const auto& data = *reinterpret_cast<const CUpti_ActivityMarkerData2*>(record);
    sizes.push_back(schema::extract::extended_payload(data)->size);
  });
  CHECK(sizes == std::vector<std::uint64_t>{schema::extract::most_payload_bytes});
  records.mark(domain(), {.payloads = {payloads, 2}});
  CHECK(lost(CUPTI_ACTIVITY_KIND_MARKER) == 1);
  CHECK(lost(CUPTI_ACTIVITY_KIND_MARKER_DATA) == 2);
}

TEST_CASE_METHOD(NvtxRecordsTest, "ranges that are too deep are counted, and closed again") {
  for (int i = 0; i < 300; ++i) CHECK(records.push(domain(), {.message = "a"}) >= 0);
  for (int i = 0; i < 300; ++i) CHECK(records.pop(domain()) >= 0);
  CHECK(records.pop(domain()) < 0);
  CHECK(markers().size() == 2 * 256);
  CHECK(lost(CUPTI_ACTIVITY_KIND_MARKER) == 2 * (300 - 256));
}

TEST_CASE_METHOD(NvtxRecordsTest, "what is off is not recorded, but levels count") {
  records.objects().choose_domains({"x", "default"}, {"x"});
  CHECK(records.is_enabled(domain()));
  CHECK_FALSE(records.is_enabled(domain("x")));
  CHECK_FALSE(records.is_enabled(domain("y")));
  CHECK(records.push(domain("x"), {}) == 0);
  CHECK(records.push(domain("x"), {}) == 1);
  CHECK(records.start(domain("x"), {}) == 0);
  CHECK(records.push(domain(), {}) == 0);
  records.record(false);
  CHECK(records.pop(domain()) == 0);
  records.mark(domain(), {});
  CHECK(markers().size() == 1);
}

TEST_CASE_METHOD(NvtxRecordsTest, "a range of an earlier trace has no end") {
  records.push(domain(), {.message = "a"});
  arena.reset();
  slots.begin(cupti, true);
  CHECK(records.pop(domain()) < 0);
  records.push(domain(), {.message = "b"});
  const auto all = markers();
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "b");
}

TEST_CASE_METHOD(NvtxRecordsTest, "nothing in a slot is believed") {
  records.push(domain("domain"), {.message = "message"});
  const std::uint32_t slot = arena.slot_count();
  const std::uint32_t used = arena.slot_header(slot).used.load();
  std::byte* const bytes = arena.slot(slot);
  const std::vector<std::byte> before(bytes, bytes + used);
  for (std::uint32_t at = 0; at + 4 <= used; at += 4) {
    for (const std::uint32_t value : {0u, 1u, 7u, 8u, 0xfff8u, 0xffffu, 0x7fffffffu, 0xffffffffu}) {
      std::memcpy(bytes + at, &value, sizeof value);
      for (const Marker& marker : markers()) CHECK(marker.name.size() < arena.call_slot_size());
      std::memcpy(bytes, before.data(), used);
    }
  }
  // Beyond the slot.
  int records_read = 0;
  MadeRecords(arena, slot).for_each(0, std::size_t{1} << 40, [&](const auto*) { ++records_read; });
  CHECK(records_read == 0);
}

TEST_CASE("domains and strings are the same each time") {
  NvtxObjects objects;
  CHECK(&objects.domain("a") == &objects.domain("a"));
  CHECK(&objects.domain("a") != &objects.domain("b"));
  CHECK(&objects.domain("") == &objects.default_domain());
  CHECK(objects.default_domain().number == 1);
  CHECK(objects.domain("b").number == 3);
  CHECK(objects.text("x") == objects.text(std::string("x")));
  const std::uint64_t id = objects.add({.domain = 1, .name = "layout"});
  CHECK(id > NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
  CHECK(objects.schema(1, id)->name == "layout");
  CHECK(!objects.schema(2, id));
}
