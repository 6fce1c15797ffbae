#include <sys/mman.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "libprof/wire/batch_parts.hpp"
#include "tests/unit/launcher_end.hpp"

using namespace gpuprof;
using collect::Channel;
using Sent = Channel::Sent;
using Tickets = std::vector<Channel::Ticket>;

namespace {

constexpr std::size_t large = 300'000;
// More than a socket holds.
constexpr std::uint32_t many = 100;

std::vector<std::byte> numbered(std::uint32_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number + i / 7);
  return bytes;
}

iovec piece_of(std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

bool is_numbered(const wire::Frame& frame, std::uint32_t number, std::size_t size = large) {
  const auto expected = numbered(number, size);
  return std::ranges::equal(frame.payload(), expected);
}

// Puts off everything from the first call on, without any wait.
void stall(Channel& channel, std::vector<std::byte>& first) {
  first = numbered(0, large);
  REQUIRE(channel.send_later(wire::FrameType::batch, first, 1));
  REQUIRE(channel.stalled());
}

}  // namespace

TEST_CASE("frames reach a launcher that stands still when it reads again, whole and in order") {
  test::LauncherEnd launcher;
  Channel channel({.patience = std::chrono::milliseconds(1), .waiting = many * 2 * large});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::size_t whole = 0, waiting = 0;
  for (std::uint32_t i = 0; i < many; ++i) {
    auto bytes = numbered(i, large);
    const iovec piece = piece_of(bytes);
    const Sent sent = channel.send(wire::FrameType::batch, std::span(&piece, 1), i + 1);
    CHECK(sent == (waiting > 0 ? Sent::waiting : sent));  // nothing overtakes what waits
    ++(sent == Sent::whole ? whole : waiting);
  }
  CHECK(whole > 0);
  CHECK(waiting > 0);
  CHECK(channel.stalled());
  CHECK(channel.alive());
  Tickets done;
  const auto frames = launcher.read_all([&] { return channel.resume(done); });
  REQUIRE(frames.size() == many);
  for (std::uint32_t i = 0; i < many; ++i) CHECK(is_numbered(frames[i], i));
  // The tickets of those that had to wait.
  REQUIRE(done.size() == waiting);
  for (std::size_t i = 0; i < waiting; ++i) CHECK(done[i] == whole + i + 1);
  CHECK(!channel.stalled());
  CHECK(channel.send(wire::FrameType::goodbye, wire::Encoder()) == Sent::whole);
}

TEST_CASE("a batch that is longer than a payload may be goes out in parts") {
  test::LauncherEnd launcher;
  Channel channel({.payload = 1000});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::vector<std::byte> whole;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<iovec> pieces;
  for (const std::size_t size : {700, 0, 1, 2600, 283, 400}) {
    bytes.push_back(numbered(static_cast<std::uint32_t>(bytes.size()), size));
    whole.insert(whole.end(), bytes.back().begin(), bytes.back().end());
  }
  for (auto& piece : bytes) pieces.push_back(piece_of(piece));
  REQUIRE(channel.send(wire::FrameType::batch, pieces) == Sent::whole);
  const auto short_one = numbered(7, 1000);
  REQUIRE(channel.send(wire::FrameType::batch, short_one) == Sent::whole);

  wire::BatchParts parts;
  for (int i = 0; i < 5; ++i) {
    const auto frame = launcher.read();
    REQUIRE(frame);
    CHECK(frame->type == wire::FrameType::batch_part);
    CHECK(frame->length <= 1000);
    const auto added = parts.add(frame->payload(), whole.size());
    CHECK(added == (i < 4 ? wire::BatchParts::Added::more : wire::BatchParts::Added::whole));
  }
  CHECK(parts.take() == whole);
  const auto frame = launcher.read();
  REQUIRE(frame);
  CHECK(frame->type == wire::FrameType::batch);
  CHECK(is_numbered(*frame, 7, 1000));
}

TEST_CASE("while a channel is stalled nobody waits") {
  test::LauncherEnd launcher;
  Channel channel({.patience = std::chrono::hours(24)});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::vector<std::byte> first;
  stall(channel, first);
  CHECK(channel.send(wire::FrameType::info, numbered(1, large)) == Sent::waiting);
  CHECK(channel.send(wire::FrameType::clock, numbered(2, 10)) == Sent::waiting);
  Tickets done;
  const auto frames = launcher.read_all([&] { return channel.resume(done); });
  REQUIRE(frames.size() == 3);
  CHECK(is_numbered(frames[0], 0));
  CHECK(frames[1].type == wire::FrameType::info);
  CHECK(is_numbered(frames[2], 2, 10));
  CHECK(done == Tickets{1});
}

TEST_CASE("what may wait has a limit, and what was refused is gone") {
  test::LauncherEnd launcher;
  Channel channel({.patience = std::chrono::hours(24), .waiting = 1000});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::vector<std::byte> first;
  stall(channel, first);  // its payload is not the channel's
  CHECK(channel.send(wire::FrameType::info, numbered(1, 500)) == Sent::waiting);
  CHECK(channel.send(wire::FrameType::info, numbered(2, 500)) == Sent::refused);
  CHECK(channel.send(wire::FrameType::info, numbered(3, 100)) == Sent::waiting);
  CHECK(channel.alive());
  Tickets done;
  const auto frames = launcher.read_all([&] { return channel.resume(done); });
  REQUIRE(frames.size() == 3);
  CHECK(is_numbered(frames[1], 1, 500));
  CHECK(is_numbered(frames[2], 3, 100));
  CHECK(channel.send(wire::FrameType::info, numbered(4, 500)) == Sent::whole);
}

TEST_CASE("a descriptor waits with its frame") {
  test::LauncherEnd launcher;
  Channel channel({.patience = std::chrono::hours(24)});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::vector<std::byte> first;
  stall(channel, first);
  const int file = memfd_create("test", MFD_CLOEXEC);
  wire::Encoder payload;
  payload.integer(std::uint32_t{7});
  CHECK(channel.send_with_file(wire::FrameType::arena, payload, file) == Sent::waiting);
  Tickets done;
  const auto frames = launcher.read_all([&] { return channel.resume(done); });
  REQUIRE(frames.size() == 2);
  CHECK(frames[1].type == wire::FrameType::arena);
  struct stat ours {
  }, theirs{};
  REQUIRE(fstat(file, &ours) == 0);
  REQUIRE(fstat(launcher.file(), &theirs) == 0);
  CHECK(ours.st_ino == theirs.st_ino);
  close(file);
}

TEST_CASE("nothing waits for a launcher that has gone") {
  test::LauncherEnd launcher;
  Channel channel({.patience = std::chrono::hours(24)});
  REQUIRE(channel.adopt(launcher.collectors_end()));
  std::vector<std::byte> first;
  stall(channel, first);
  launcher.hang_up();
  Tickets done;
  CHECK(!channel.resume(done));
  CHECK(done.empty());
  CHECK(!channel.alive());
  CHECK(!channel.stalled());
  CHECK(channel.send(wire::FrameType::info, numbered(1, 500)) == Sent::refused);
  CHECK(!channel.send_later(wire::FrameType::batch, first, 2));
}

TEST_CASE("a channel that was shut begins again with another launcher") {
  test::LauncherEnd first, second;
  Channel channel({.patience = std::chrono::milliseconds(1)});
  const int before = first.collectors_end();
  REQUIRE(channel.adopt(before));
  std::vector<std::byte> bytes;
  stall(channel, bytes);
  channel.shut();
  CHECK(!channel.alive());
  REQUIRE(channel.adopt(second.collectors_end()));
  CHECK(channel.flows());
  auto next = numbered(7, large);
  CHECK(channel.send(wire::FrameType::batch, next) != Sent::refused);
  Tickets done;
  const auto frames = second.read_all([&] { return channel.resume(done); });
  REQUIRE(frames.size() == 1);
  CHECK(is_numbered(frames[0], 7));
  CHECK(done.empty());
}
