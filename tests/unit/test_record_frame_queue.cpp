#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "libprof/record/launch/frame_queue.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using launch::FrameQueue;
using std::chrono::milliseconds;

namespace {

wire::Frame numbered(std::uint32_t number, std::size_t size = 100,
                     wire::FrameType type = wire::FrameType::batch) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number + i);
  return wire::make_frame(type, number, bytes);
}

bool is_numbered(const wire::Frame& frame, std::uint32_t number) {
  return test::bytes_of(frame) == test::bytes_of(numbered(number, frame.length, frame.type));
}

// The next frame, also if it comes later, but not after this time.
bool next(FrameQueue& queue, wire::Frame& frame, milliseconds patience) {
  queue.gather(1, std::chrono::steady_clock::now() + patience);
  return queue.pop(frame);
}

// No file of this process may grow beyond, without a signal; undone at the end.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int);
};

}  // namespace

TEST_CASE("frames come out of the queue as they went in") {
  const test::TemporaryFolder folder;
  FrameQueue queue(1 << 20, folder.path());
  for (std::uint32_t i = 0; i < 100; ++i) queue.push(numbered(i));
  CHECK(queue.counts().waiting_bytes == 100 * 116);
  wire::Frame frame;
  for (std::uint32_t i = 0; i < 100; ++i) {
    REQUIRE(queue.pop(frame));
    CHECK(is_numbered(frame, i));
  }
  CHECK(!queue.pop(frame));
  CHECK(queue.counts().waiting_bytes == 0);
  CHECK(queue.counts().spilled_bytes == 0);
}

TEST_CASE("what memory has no room for waits in a file, in order") {
  const test::TemporaryFolder folder;
  FrameQueue queue(1000, folder.path());
  wire::Frame frame;
  std::uint32_t pushed = 0, popped = 0;
  // Fuller, emptier, fuller, so that memory and file take turns.
  for (const auto& [in, out] : {std::pair{50, 20}, {5, 30}, {40, 10}, {0, 35}, {30, 30}}) {
    for (int i = 0; i < in; ++i, ++pushed) queue.push(numbered(pushed, pushed % 300));
    for (int i = 0; i < out; ++i, ++popped) {
      REQUIRE(queue.pop(frame));
      CHECK(is_numbered(frame, popped));
    }
  }
  CHECK(popped == pushed);
  const auto counts = queue.counts();
  CHECK(counts.spilled_bytes > 0);
  CHECK(counts.discarded_blocks == 0);
  CHECK(counts.waiting_bytes == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a frame larger than all memory passes through the file") {
  const test::TemporaryFolder folder;
  FrameQueue queue(1000, folder.path());
  queue.push(numbered(1, 1 << 20));
  CHECK(queue.counts().waiting_bytes == (1 << 20) + 16);
  wire::Frame frame;
  REQUIRE(queue.pop(frame));
  CHECK(is_numbered(frame, 1));
}

TEST_CASE("where no file can be, batches are discarded and counted, the rest is kept") {
  FrameQueue queue(1000, "/no/such/folder");
  for (std::uint32_t i = 0; i < 8; ++i) queue.push(numbered(i));  // 928 bytes
  queue.push(numbered(8));
  queue.push(numbered(9));
  queue.push(numbered(10, 100, wire::FrameType::goodbye));
  const auto counts = queue.counts();
  CHECK(counts.discarded_blocks == 2);
  CHECK(counts.discarded_bytes == 2 * 116);
  CHECK(counts.spilled_bytes == 0);
  wire::Frame frame;
  for (const std::uint32_t i : {0, 1, 2, 3, 4, 5, 6, 7, 10}) {
    REQUIRE(queue.pop(frame));
    CHECK(is_numbered(frame, i));
  }
  CHECK(!queue.pop(frame));
}

TEST_CASE("of a batch that has no room its strings and the number of its rows stay") {
  FrameQueue queue(0, "/no/such/folder");
  wire::Encoder rows;
  rows.raw(std::vector<std::byte>(30));
  queue.push(test::BatchBuilder()
                 .strings({{1, "text"}})
                 .bytes({{2, "bytes"}})
                 .rows(10, 3, rows)
                 .rows(5, 2, rows)
                 .frame(7));
  CHECK(queue.counts().discarded_blocks == 0);
  wire::Frame frame;
  REQUIRE(queue.pop(frame));
  CHECK(frame.stream == 7);
  const auto batch = wire::decode_batch(frame.payload());
  REQUIRE(batch);
  CHECK(batch->header.flags == wire::batch_discarded);
  REQUIRE(batch->blocks.size() == 3);
  const auto strings = wire::decode_strings(batch->blocks[0]);
  REQUIRE(strings);
  CHECK(strings->at(0).text == "text");
  CHECK(batch->blocks[1].table == 10);
  CHECK(batch->blocks[1].rows == 3);
  CHECK(batch->blocks[1].bytes.empty());
  CHECK(batch->blocks[2].table == 5);
  CHECK(batch->blocks[2].rows == 2);
}

TEST_CASE("what is no batch has a limit too where no file can be, but for the launcher's own") {
  constexpr std::size_t large = std::size_t{8} << 20;
  launch::FrameQueue queue(1 << 20, "/nowhere");
  const std::vector<std::byte> bytes(large);
  for (int i = 0; i < 20; ++i) queue.push(wire::make_frame(wire::FrameType{77}, 1, bytes));
  queue.push(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  const launch::FrameQueue::Counts counts = queue.counts();
  CHECK(counts.waiting_bytes <= (std::size_t{64} << 20) + 100);
  CHECK(counts.discarded_blocks == 20 - counts.waiting_bytes / large);
  wire::Frame last;
  for (wire::Frame frame; queue.pop(frame);) last = std::move(frame);
  CHECK(last.type == wire::FrameType::stream_end);
}

TEST_CASE("order holds when the disk is full") {
  const test::TemporaryFolder folder;
  FrameQueue queue(250, folder.path());
  std::vector<std::uint32_t> pushed;
  const auto push = [&](std::uint32_t number, std::size_t size = 100,
                        wire::FrameType type = wire::FrameType::batch) {
    queue.push(numbered(number, size, type));
    pushed.push_back(number);
  };
  const auto pop = [&] {
    wire::Frame frame;
    REQUIRE(queue.pop(frame));
    REQUIRE(!pushed.empty());
    CHECK(is_numbered(frame, pushed.front()));
    pushed.erase(pushed.begin());
  };
  {
    const FileSizeLimit limit(116 * 3 + 50);
    for (std::uint32_t i = 0; i < 5; ++i) push(i);  // two in memory, three on disk
    push(5, 60, wire::FrameType::goodbye);          // kept in memory, behind those on disk
    push(6, 60, wire::FrameType::stream_end);
    queue.push(numbered(99));  // no room anywhere
    CHECK(queue.counts().discarded_blocks == 1);
    pop();
    pop();
    CHECK(queue.counts().spilled_bytes == 3 * 116);
    push(7, 80);  // memory has room again, and the disk has not
    CHECK(queue.counts().discarded_blocks == 1);
  }
  push(8);  // the disk has room again: what waits in memory goes there first
  CHECK(queue.counts().spilled_bytes == 4 * 116 + 2 * 76 + 96);
  for (std::uint32_t i = 9; i < 12; ++i) push(i);
  while (!pushed.empty()) pop();
  wire::Frame frame;
  CHECK(!queue.pop(frame));
  CHECK(queue.counts().waiting_bytes == 0);
}

TEST_CASE("the disk gives back the room of what was read while more is spilled") {
  // Never empty, and never more than this waits: the files stay within twice that.
  constexpr std::uint32_t waiting = 10, all = 1000;
  const test::TemporaryFolder folder;
  FrameQueue queue(0, folder.path());
  const FileSizeLimit limit(116 * (waiting + 2));
  wire::Frame frame;
  for (std::uint32_t i = 0; i < all; ++i) {
    queue.push(numbered(i));
    if (i < waiting) continue;
    REQUIRE(queue.pop(frame));
    CHECK(is_numbered(frame, i - waiting));
  }
  CHECK(queue.counts().discarded_blocks == 0);
  CHECK(queue.counts().spilled_bytes == 116 * all);
}

TEST_CASE("what is on disk has a limit, and what goes beyond is counted") {
  const test::TemporaryFolder folder;
  FrameQueue queue(0, folder.path(), 116 * 4);
  for (std::uint32_t i = 0; i < 6; ++i) queue.push(numbered(i));
  CHECK(queue.counts().discarded_blocks == 2);
  CHECK(queue.counts().waiting_bytes == 116 * 4);
  wire::Frame frame;
  REQUIRE(queue.pop(frame));
  queue.push(numbered(6));  // the limit is on what waits
  CHECK(queue.counts().discarded_blocks == 2);
  for (const std::uint32_t i : {1, 2, 3, 6}) {
    REQUIRE(queue.pop(frame));
    CHECK(is_numbered(frame, i));
  }
}

TEST_CASE("a full disk costs what does not fit, and nothing that did") {
  const test::TemporaryFolder folder;
  FrameQueue queue(0, folder.path());
  {
    const FileSizeLimit limit(116 * 10 + 50);
    for (std::uint32_t i = 0; i < 12; ++i) queue.push(numbered(i));
    queue.push(numbered(99, 20));  // a smaller one still has room
  }
  CHECK(queue.counts().discarded_blocks == 2);
  CHECK(queue.counts().discarded_bytes == 2 * 116);
  wire::Frame frame;
  for (const std::uint32_t i : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99}) {
    REQUIRE(queue.pop(frame));
    CHECK(is_numbered(frame, i));
  }
  queue.push(numbered(100));
  REQUIRE(queue.pop(frame));
  CHECK(is_numbered(frame, 100));
}

TEST_CASE("a queue is exhausted when it is closed and empty") {
  const test::TemporaryFolder folder;
  FrameQueue queue(200, folder.path());
  CHECK(!queue.exhausted());
  for (std::uint32_t i = 0; i < 5; ++i) queue.push(numbered(i));
  queue.close();
  wire::Frame frame;
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(!queue.exhausted());
    REQUIRE(next(queue, frame, milliseconds(60'000)));
  }
  CHECK(queue.exhausted());
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!next(queue, frame, milliseconds(60'000)));  // nothing will come: no wait
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(30'000));
}

TEST_CASE("what waits in an abandoned queue is counted and does not come out") {
  const test::TemporaryFolder folder;
  FrameQueue queue(500, folder.path());
  for (std::uint32_t i = 0; i < 10; ++i) queue.push(numbered(i));
  queue.abandon();
  CHECK(queue.exhausted());
  wire::Frame frame;
  CHECK(!next(queue, frame, milliseconds(60'000)));
  CHECK(queue.counts().discarded_bytes == 10 * 116);
  CHECK(queue.counts().discarded_blocks == 4 + 1);  // in memory, and what is on disk
  CHECK(queue.counts().waiting_bytes == 0);
}

TEST_CASE("waiting for the next frame ends when it is there, or in time", "[tsan]") {
  FrameQueue queue(1000, "/tmp");
  wire::Frame frame;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!next(queue, frame, milliseconds(20)));
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(20));
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(20));
    queue.push(numbered(1));
  });
  CHECK(next(queue, frame, milliseconds(60'000)));
  late.join();
  std::thread closing([&] {
    std::this_thread::sleep_for(milliseconds(20));
    queue.close();
  });
  CHECK(!next(queue, frame, milliseconds(60'000)));
  closing.join();
  CHECK(queue.exhausted());
}

TEST_CASE("a queue gathers until there is enough, nothing more will come, or it is time",
          "[tsan]") {
  using std::chrono::steady_clock;
  const test::TemporaryFolder folder;
  FrameQueue queue(1000, folder.path());
  const auto later = steady_clock::now() + std::chrono::hours(1);
  queue.push(numbered(0));
  queue.gather(116, later);
  const auto soon = steady_clock::now() + milliseconds(20);
  queue.gather(117, soon);
  CHECK(steady_clock::now() >= soon);
  std::thread pushing([&] {
    for (std::uint32_t i = 1; i < 20; ++i) queue.push(numbered(i));  // some wait in a file
  });
  queue.gather(20 * 116, later);
  CHECK(queue.counts().waiting_bytes == 20 * 116);
  pushing.join();
  std::thread closing([&] { queue.close(); });
  queue.gather(1 << 20, later);
  closing.join();
}

TEST_CASE("order holds with a thread at each end", "[tsan]") {
  const test::TemporaryFolder folder;
  FrameQueue queue(5000, folder.path());
  constexpr std::uint32_t count = 5000;
  std::thread pushing([&] {
    for (std::uint32_t i = 0; i < count; ++i) {
      queue.push(numbered(i, i % 500));
      if (i % 500 == 0) std::this_thread::sleep_for(milliseconds(1));
    }
    queue.close();
  });
  std::uint32_t expected = 0;
  bool in_order = true;
  while (!queue.exhausted()) {
    wire::Frame frame;
    if (!next(queue, frame, milliseconds(100))) continue;
    in_order = in_order && is_numbered(frame, expected);
    ++expected;
    queue.counts();
  }
  pushing.join();
  CHECK(in_order);
  CHECK(expected == count);
  CHECK(queue.counts().discarded_blocks == 0);
}
