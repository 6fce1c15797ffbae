#include "libprof/collect/extra/launch_stacks.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "libprof/collect/extra/hash_numbers.hpp"
#include "libprof/collect/made_records.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

// A slot of calls with the entries of a stack of two frames, a call and a node.
class StackEntriesTest {
 protected:
  StackEntriesTest() {
    REQUIRE(arena.create(4, 1 << 16));
    const auto lent = arena.lend_calls({.process = 1, .thread = 2});
    REQUIRE(lent);
    slot = *lent;
    add_text("/src/model.py");
    add_text("Model.forward");
    add(StackFrameEntry{Entry::stack_frame, 0, 7, 12, 0, 32, 0});
    const std::uint32_t frames[] = {7, 8};
    add(StackEntry{Entry::stack, 2, 3});
    add(frames);
    add(CallStackEntry{Entry::call_stack, 0, 41, 3, 0});
    add(GraphNodeEntry{Entry::graph_node, 0, 41, 0, 100, 0});
    add(GraphNodeEntry{Entry::graph_node, 0, 43, 200, 201, 100});
    NcclOperationEntry operation{};
    operation.entry = Entry::nccl_operation;
    operation.correlation = 44;
    operation.count = 10;
    operation.root = operation.peer = operation.channels = -1;
    operation.type = {'I', 'n', 't', '3', '2'};
    operation.algorithm.fill('x');
    add(operation);
    add(NcclNodeEntry{Entry::nccl_node, 0, 0, 300, 100});
  }

  template <class T>
  void add(const T& entry) {
    std::memcpy(arena.slot(slot) + used, &entry, sizeof entry);
    used += sizeof entry;
  }
  void add_text(std::string_view text) {
    const BytesEntry entry{Entry::bytes, 0, static_cast<std::uint32_t>(text.size()), 0};
    std::memcpy(arena.slot(slot) + used, &entry, sizeof entry);
    std::memcpy(arena.slot(slot) + used + sizeof entry, text.data(), text.size());
    arena.slot(slot)[used + sizeof entry + text.size()] = std::byte{0};
    used += size_of_bytes_entry(text.size());
  }

  struct Rows {
    std::vector<schema::CallStack::Row> calls;
    std::vector<schema::StackEntry::Row> entries;
    std::vector<std::string> frames;
    std::vector<schema::GraphNode::Row> nodes;
    std::vector<std::string> operations;
    std::vector<schema::NcclNode::Row> nccl_nodes;

    void take(const CUpti_Activity*) {}
    void take(const schema::CallStack::Row& row) { calls.push_back(row); }
    void take(const schema::StackEntry::Row& row) { entries.push_back(row); }
    void take(const schema::StackFrame::Row& row) {
      frames.push_back(std::string(row.module) + ":" + std::to_string(row.line.value_or(0)) + " " +
                       std::string(row.function));
    }
    void take(const schema::GraphNode::Row& row) { nodes.push_back(row); }
    void take(const schema::NcclOperation::Row& row) {
      operations.push_back(std::string(row.type) + " " + std::string(row.algorithm) + " " +
                           std::to_string(row.bytes.value_or(0)) +
                           (row.root || row.peer || row.node ? " wrong" : ""));
    }
    void take(const schema::NcclNode::Row& row) { nccl_nodes.push_back(row); }
  };
  Rows rows() const {
    Rows all;
    MadeRecords(arena, slot).for_each(0, used, [&](const auto& made) { all.take(made); });
    return all;
  }

  Arena arena;
  std::uint32_t slot = 0;
  std::size_t used = 0;
};

}  // namespace

TEST_CASE_METHOD(StackEntriesTest, "entries become rows") {
  const Rows all = rows();
  CHECK(all.frames == std::vector<std::string>{"/src/model.py:12 Model.forward"});
  REQUIRE(all.entries.size() == 2);
  CHECK((all.entries[1].stack == 3 && all.entries[1].position == 1 && all.entries[1].frame == 8));
  REQUIRE(all.calls.size() == 1);
  CHECK((all.calls[0].correlation == 41 && all.calls[0].stack == 3));
  REQUIRE(all.nodes.size() == 3);
  CHECK((all.nodes[0].node == 100 && !all.nodes[0].source && all.nodes[0].correlation == 41));
  CHECK((all.nodes[1].node == 200 && all.nodes[1].source == 100));
  CHECK((all.nodes[2].node == 201 && all.nodes[2].source == 100));
  CHECK(all.operations == std::vector<std::string>{"Int32 xxxxxxxxxxxxxxxx 40"});
  REQUIRE(all.nccl_nodes.size() == 1);
  CHECK((all.nccl_nodes[0].node == 300 && all.nccl_nodes[0].source == 100));
}

TEST_CASE_METHOD(StackEntriesTest, "nothing in entries is believed") {
  std::byte* const bytes = arena.slot(slot);
  const std::vector<std::byte> before(bytes, bytes + used);
  for (std::size_t at = 0; at + 4 <= used; at += 4) {
    for (const std::uint32_t value : {0u, 1u, 8u, 0xfff8u, 0xffffu, 0xffff4e06u, 0xffffffffu}) {
      std::memcpy(bytes + at, &value, sizeof value);
      const Rows all = rows();
      for (const std::string& frame : all.frames) CHECK(frame.size() < 600);
      for (const std::string& operation : all.operations) CHECK(operation.size() < 70);
      CHECK(all.entries.size() <= arena.call_slot_size() / 4);
      std::memcpy(bytes, before.data(), used);
    }
  }
}

TEST_CASE_METHOD(StackEntriesTest, "a text that is longer than any name is left out") {
  used = 0;
  add_text(std::string(256, 'x'));
  const auto name = static_cast<BytesAt>(used);
  add_text("f");
  add(StackFrameEntry{Entry::stack_frame, 0, 7, 12, 0, name, 0});
  CHECK(rows().frames == std::vector<std::string>{":12 f"});
}

TEST_CASE_METHOD(StackEntriesTest, "a native frame has a module and an offset") {
  used = 0;
  add_text("/usr/bin/program");
  add(NativeFrameEntry{Entry::native_frame, 0, 9, 0x1234, 0, 0});
  add(NativeFrameEntry{Entry::native_frame, 0, 10, 0x5678, no_bytes, 0});
  std::vector<std::string> found;
  MadeRecords(arena, slot).for_each(0, used, [&](const auto& row) {
    if constexpr (std::is_same_v<decltype(row), const schema::StackFrame::Row&>) {
      found.push_back(std::string(row.module) + "+" + std::to_string(row.offset.value_or(0)));
    }
  });
  CHECK(found == std::vector<std::string>{"/usr/bin/program+4660", "+22136"});
}

TEST_CASE("numbers of hashes are the same each time, until the table is full") {
  HashNumbers<256> numbers;
  const std::uint32_t number = numbers.number_of(5);
  CHECK(number != 0);
  CHECK(numbers.number_of(5 + 256) != number);
  CHECK(numbers.number_of(5) == number);
  CHECK(numbers.take(number));
  CHECK(!numbers.take(number));
  numbers.give_back(number);
  CHECK(numbers.take(number));
  int without = 0;
  for (std::uint64_t hash = 1; hash <= 1000; ++hash) without += numbers.number_of(hash) == 0;
  CHECK(without > 1000 - 257);
  numbers.clear();
  CHECK(!numbers.is_taken(number));
}
