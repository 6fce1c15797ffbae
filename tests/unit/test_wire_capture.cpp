// Captures that were damaged: what is damaged is lost, and nothing else.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "libprof/base/crc32c.hpp"
#include "libprof/base/error.hpp"
#include "libprof/wire/capture.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;

namespace {

// As a page says it: one bit after the other.
std::uint32_t crc_by_bits(std::span<const std::byte> bytes) {
  std::uint32_t sum = ~0u;
  for (const std::byte byte : bytes) {
    sum ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
  }
  return ~sum;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Frames of several lengths, none and one byte among them; the stream is their number.
std::vector<wire::Frame> some_frames() {
  std::vector<wire::Frame> frames;
  for (const std::size_t length : {20u, 0u, 1u, 300u, 7u, 64u, 0u, 33u}) {
    const std::string payload(length, static_cast<char>('a' + frames.size()));
    const auto number = static_cast<std::uint32_t>(frames.size());
    frames.push_back(wire::make_frame(wire::FrameType::batch, number, as_bytes(payload)));
  }
  return frames;
}

// Where each frame of a capture begins, and where the last one ends.
std::vector<std::size_t> places_of(const std::vector<wire::Frame>& frames) {
  std::vector<std::size_t> places{test::capture_start().size()};
  for (const wire::Frame& frame : frames) {
    places.push_back(places.back() + sizeof(wire::CaptureHead) + frame.length);
  }
  return places;
}

struct Result {
  std::vector<std::uint32_t> frames;  // their streams
  wire::CaptureReader::Damage damage;
  std::string text;
};

// Every frame that comes out must be one that went in.
Result read(const std::string& path, const std::vector<wire::Frame>& frames) {
  wire::CaptureReader reader(path);
  Result result;
  wire::Frame frame;
  while (reader.next(frame)) {
    REQUIRE(frame.stream < frames.size());
    CHECK(test::bytes_of(frame) == test::bytes_of(frames[frame.stream]));
    result.frames.push_back(frame.stream);
  }
  CHECK(!reader.next(frame));
  result.damage = reader.damage();
  result.text = reader.damage_text();
  CHECK(result.text.empty() == reader.whole());
  return result;
}

// The numbers up to `count` without those left out.
std::vector<std::uint32_t> all_but(std::size_t count, const std::set<std::size_t>& left_out) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (!left_out.contains(i)) numbers.push_back(static_cast<std::uint32_t>(i));
  }
  return numbers;
}

}  // namespace

TEST_CASE("CRC-32C is the one that others compute") {
  // RFC 3720, B.4.
  CHECK(crc32c(as_bytes("123456789")) == 0xe3069283);
  CHECK(crc32c(as_bytes(std::string(32, '\0'))) == 0x8a9136aa);
  CHECK(crc32c(as_bytes(std::string(32, '\xff'))) == 0x62a8ab43);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("CRC-32C does not depend on length, place and pieces") {
  std::vector<std::byte> bytes(40'000);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1103515245 + 12345;
    byte = static_cast<std::byte>(state >> 16);
  }
  const std::span<const std::byte> all = bytes;
  for (const std::size_t length : {1, 7, 8, 9, 4095, 12287, 12288, 12289, 24576, 39'990}) {
    for (const std::size_t start : {0, 1, 3}) {
      const auto some = all.subspan(start, length);
      const std::uint32_t sum = crc_by_bits(some);
      CHECK(crc32c(some) == sum);
      CHECK(crc32c(some.subspan(length / 3), crc32c(some.first(length / 3))) == sum);
    }
  }
}

TEST_CASE("a changed byte costs the frame it is in") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  const std::string bytes = test::capture_of(frames);
  for (std::size_t at = places[0]; at < bytes.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      test::write_file(path, changed);
      std::size_t hit = 0;
      while (places[hit + 1] <= at) ++hit;
      INFO("byte " << at << " of frame " << hit);
      const Result result = read(path, frames);
      CHECK(result.frames == all_but(frames.size(), {hit}));
      CHECK(result.damage.places == 1);
      CHECK(result.damage.first == places[hit]);
      CHECK(result.damage.bytes == places[hit + 1] - places[hit]);
      CHECK(result.damage.frames == 1);
    }
  }
}

TEST_CASE("a hole costs the frames it touches") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  const std::string bytes = test::capture_of(frames);
  for (std::size_t at = places[0]; at < bytes.size(); at += 3) {
    for (const std::size_t length : {1u, 8u, 40u, 41u, 100u, 400u}) {
      std::string cut = bytes;
      cut.erase(at, length);
      test::write_file(path, cut);
      std::set<std::size_t> hit;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        if (places[i] < at + length && places[i + 1] > at) hit.insert(i);
      }
      INFO(length << " bytes cut out at " << at);
      const Result result = read(path, frames);
      // Two heads begin with the same bytes: a hole from one to the other may leave a whole one.
      CHECK(std::ranges::includes(result.frames, all_but(frames.size(), hit)));
      const std::size_t lost = frames.size() - result.frames.size();
      const bool at_the_end = result.frames.back() != frames.size() - 1;
      if (!at_the_end) CHECK(result.damage.frames == lost);
      // Whole frames that are missing at the end leave no trace.
      if (!at_the_end || cut.size() != places[*hit.begin()]) CHECK(result.damage.places == 1);
    }
  }
}

TEST_CASE("a capture cut off anywhere is read up to the cut") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  const std::string bytes = test::capture_of(frames);
  for (std::size_t size = places[0]; size < bytes.size(); ++size) {
    test::write_file(path, bytes.substr(0, size));
    std::size_t whole = 0;
    while (places[whole + 1] <= size) ++whole;
    const Result result = read(path, frames);
    CHECK(result.frames.size() == whole);
    CHECK(result.text.empty() == (places[whole] == size));
    if (!result.text.empty())
      CHECK_THAT(result.text, Catch::EndsWith("what came before is loaded"));
  }
}

TEST_CASE("bytes that belong to no frame are passed over") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  // Zeros, as of a page that was never written; a marker alone; heads whose sums are wrong.
  wire::CaptureHead other = wire::head_of(frames[0], 0);
  other.frame.length = 5;
  const std::string head(reinterpret_cast<const char*>(&other), sizeof other);
  for (const std::string& strange : {std::string(5000, '\0'), head.substr(0, 8), head, head + head,
                                     std::string(200'000, '\xf5')}) {
    for (const std::size_t at : {places[0], places[3], places.back()}) {
      std::string bytes = test::capture_of(frames);
      bytes.insert(at, strange);
      test::write_file(path, bytes);
      const Result result = read(path, frames);
      CHECK(result.frames == all_but(frames.size(), {}));
      CHECK(result.damage.places == 1);
      CHECK(result.damage.bytes == strange.size());
    }
  }
}

TEST_CASE("frames that changed places are all there, and it is reported") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  std::string bytes = test::capture_start();
  for (const std::size_t i : {0, 1, 4, 3, 2, 5, 6, 7}) {
    bytes += test::capture_bytes_of(frames[i], i);
  }
  test::write_file(path, bytes);
  const Result result = read(path, frames);
  CHECK(result.frames == std::vector<std::uint32_t>{0, 1, 4, 3, 2, 5, 6, 7});
  CHECK(result.damage.places > 0);
  CHECK(result.damage.bytes == 0);
  CHECK(result.damage.frames == 0);
}

TEST_CASE("heads that lie, with sums that are right, cost their own frame") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{299}, std::uint64_t{301},
                                     std::uint64_t{100'000}, wire::max_payload, UINT64_MAX}) {
    wire::Frame lying = test::copy(frames[3]);
    lying.length = 0;
    wire::CaptureHead head = wire::head_of(lying, 3);
    head.frame.length = length;
    head.payload_sum = wire::head_of(frames[3], 3).payload_sum;
    head.head_sum = crc32c(as_bytes({reinterpret_cast<const char*>(&head), 36}));
    std::string bytes = test::capture_of(frames);
    std::memcpy(&bytes[places[3]], &head, sizeof head);
    test::write_file(path, bytes);
    INFO(length);
    const Result result = read(path, frames);
    CHECK(result.frames == all_but(frames.size(), {3}));
    CHECK(result.damage.frames == 1);
  }
}

TEST_CASE("a file made of nothing but heads that lie comes to an end") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  constexpr std::size_t heads = 20'000;
  std::string bytes = test::capture_start();
  for (std::size_t i = 0; i < heads; ++i) {
    wire::CaptureHead head = wire::head_of(wire::make_frame(wire::FrameType::batch, 0, {}), i);
    head.frame.length = (heads - 1 - i) * sizeof head;
    head.payload_sum = 1;
    head.head_sum = crc32c(as_bytes({reinterpret_cast<const char*>(&head), 36}));
    bytes += std::string(reinterpret_cast<const char*>(&head), sizeof head);
  }
  test::write_file(path, bytes);
  const Result result = read(path, {});
  CHECK(result.frames.empty());
  CHECK_THAT(result.text, Catch::Contains("damaged all over"));
}

TEST_CASE("a capture comes through a pipe, up to its damage") {
  const test::TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  const auto frames = some_frames();
  const auto places = places_of(frames);
  const auto read_from_pipe = [&](const std::string& bytes) {
    const pid_t writer = fork();
    if (writer == 0) {
      test::write_file(pipe, bytes);
      _exit(0);
    }
    const Result result = read(pipe, frames);
    waitpid(writer, nullptr, 0);
    return result;
  };
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string bytes = test::capture_of(frames);
  CHECK(read_from_pipe(bytes).frames == all_but(frames.size(), {}));
  bytes[places[3] + 50] ^= 1;
  const Result result = read_from_pipe(bytes);
  CHECK(result.frames == std::vector<std::uint32_t>{0, 1, 2});
  CHECK_THAT(result.text, Catch::Contains("cannot be searched"));
}

TEST_CASE("a capture of version 1 is read, up to its damage") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = some_frames();
  std::string bytes = test::capture_of_version_1(frames);
  test::write_file(path, bytes);
  CHECK(read(path, frames).frames == all_but(frames.size(), {}));
  const std::size_t fourth = test::capture_start(1).size() + 3 * sizeof(wire::FrameHeader) + 21;
  bytes[fourth + 2] ^= 1;  // its type is none now
  test::write_file(path, bytes);
  const Result result = read(path, frames);
  CHECK(result.frames == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(result.damage.first == fourth);
  CHECK_THAT(result.text, Catch::Contains("no frame header where one should be"));
  CHECK_THAT(result.text, Catch::EndsWith("what came before is loaded"));
}
