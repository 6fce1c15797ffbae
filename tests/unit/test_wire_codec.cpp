#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "libprof/base/error.hpp"
#include "libprof/wire/capture.hpp"
#include "libprof/wire/limits.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;

namespace {

// All frames out of bytes that arrive `step` at a time.
std::vector<wire::Frame> assemble(std::string_view bytes, std::size_t step) {
  wire::FrameAssembler assembler;
  std::vector<wire::Frame> frames;
  while (!bytes.empty()) {
    const auto room = assembler.room();
    if (room.empty()) break;
    const std::size_t count = std::min({step, room.size(), bytes.size()});
    std::memcpy(room.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    assembler.filled(count);
    if (assembler.complete()) frames.push_back(assembler.take());
  }
  return frames;
}

}  // namespace

TEST_CASE("what the encoder writes the decoder reads back") {
  wire::Fields fields;
  fields.set("name", "value");
  fields.set("number", std::int64_t{-42});
  fields.set("empty", "");
  wire::Encoder encoder;
  encoder.integer(std::uint8_t{1}).integer(std::int64_t{-2}).text("three").text("").fields(fields);

  wire::Decoder decoder(encoder.bytes());
  CHECK(decoder.integer<std::uint8_t>() == 1);
  CHECK(decoder.integer<std::int64_t>() == -2);
  CHECK(decoder.text() == "three");
  CHECK(decoder.text().empty());
  const wire::Fields read = decoder.fields();
  CHECK(read.size() == 3);
  CHECK(read.text("name") == "value");
  CHECK(read.integer("number") == -42);
  CHECK(read.find("empty") == "");
  CHECK(!read.find("absent"));
  CHECK(read.integer("absent", 7) == 7);
  CHECK(read.integer("name", 7) == 7);
  CHECK(decoder.ok());
  CHECK(decoder.remaining() == 0);
}

TEST_CASE("integers are little-endian") {
  wire::Encoder encoder;
  encoder.integer(std::uint32_t{0x01020304});
  const auto bytes = encoder.take();
  CHECK(bytes == std::vector{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}});
}

TEST_CASE("a decoder never reads past the end, and stays failed") {
  wire::Encoder encoder;
  encoder.text("four").integer(std::uint32_t{5});
  const auto all = encoder.bytes();
  for (std::size_t size = 0; size < all.size(); ++size) {
    wire::Decoder decoder(all.first(size));
    const auto text = decoder.text();
    const auto number = decoder.integer<std::uint32_t>();
    CHECK(number == 0);
    CHECK(text == (size >= 8 ? "four" : ""));
    CHECK(!decoder.ok());
    CHECK(decoder.text().empty());
    CHECK(decoder.integer<std::uint64_t>() == 0);
    CHECK(decoder.fields().size() == 0);
    CHECK(!decoder.ok());
  }
  wire::Decoder nothing({});
  CHECK(nothing.raw(0).empty());
  CHECK(nothing.ok());
  CHECK(nothing.raw(SIZE_MAX).empty());
  CHECK(!nothing.ok());
}

TEST_CASE("fields that promise more than there is come to an end") {
  wire::Encoder encoder;
  encoder.integer(std::uint32_t{0xffffffff}).text("a").text("b");
  wire::Decoder decoder(encoder.bytes());
  CHECK(decoder.fields().size() == 0);
  CHECK(!decoder.ok());
}

TEST_CASE("lists of more things than make sense are no lists, however small the things are") {
  const auto list = [](std::uint32_t count, std::size_t item_size) {
    wire::Encoder encoder;
    encoder.integer(count).raw(std::vector<std::byte>(count * item_size));
    return encoder;
  };
  const auto fields = [&](std::uint32_t count) {
    const wire::Encoder encoder = list(count, 8);
    wire::Decoder decoder(encoder.bytes());
    return decoder.fields().size() == count && decoder.ok();
  };
  CHECK(fields(wire::max_fields));
  CHECK(!fields(wire::max_fields + 1));
  CHECK(wire::decode_statistics(list(wire::max_statistics, 16).bytes()));
  CHECK(!wire::decode_statistics(list(wire::max_statistics + 1, 16).bytes()));
  CHECK(wire::decode_api_names(list(wire::max_api_names, 12).bytes()));
  CHECK(!wire::decode_api_names(list(wire::max_api_names + 1, 12).bytes()));

  const auto batch = [](std::uint32_t blocks) {
    wire::Encoder encoder;
    encoder.integer(wire::BatchHeader{wire::no_slot, 0, blocks, 0});
    encoder.raw(std::vector<std::byte>(blocks * sizeof(wire::BlockHeader)));
    return wire::decode_batch(encoder.bytes()).has_value();
  };
  CHECK(batch(wire::max_blocks));
  CHECK(!batch(wire::max_blocks + 1));

  wire::Encoder strings;
  for (std::uint32_t i = 0; i <= wire::max_strings; ++i) strings.integer(i + 1).text("");
  CHECK(wire::decode_strings({wire::string_block, wire::max_strings, strings.bytes()}));
  CHECK(!wire::decode_strings({wire::string_block, wire::max_strings + 1, strings.bytes()}));
}

TEST_CASE("only rows and images are long") {
  using wire::FrameType;
  for (const FrameType type : {FrameType::hello, FrameType::info, FrameType::table,
                               FrameType::statistics, FrameType::run, FrameType::stream_end}) {
    CHECK(!wire::is_oversized(type, wire::max_small_payload));
    CHECK(wire::is_oversized(type, wire::max_small_payload + 1));
  }
  for (const FrameType type :
       {FrameType::batch, FrameType::counter_data, static_cast<FrameType>(77)}) {
    CHECK(!wire::is_oversized(type, wire::max_payload));
  }
}

TEST_CASE("messages round trip") {
  wire::Encoder table;
  encode(table, test::tables::kernel);
  const auto read_table = wire::decode_table(table.bytes());
  REQUIRE(read_table);
  CHECK(read_table->id == 10);
  CHECK(read_table->name == test::tables::kernel.name);
  CHECK(read_table->row_width() == 29);
  REQUIRE(read_table->columns.size() == 6);
  CHECK(read_table->columns[4].role == schema::Role::correlation);
  CHECK(read_table->columns[0].width == 1);
  CHECK(read_table->columns[5].doc == "a doc");

  wire::Encoder clock;
  encode(clock, wire::Clock{wire::Clock::Moment::last, 1, -2, 3, 4, 5, 6});
  const auto read_clock = wire::decode_clock(clock.bytes());
  REQUIRE(read_clock);
  CHECK(read_clock->moment == wire::Clock::Moment::last);
  CHECK(read_clock->realtime == 1);
  CHECK(read_clock->monotonic == -2);
  CHECK(read_clock->cupti == 3);
  CHECK(read_clock->monotonic_raw == 4);
  CHECK(read_clock->ticks == 5);
  CHECK(read_clock->realtime_error == 6);
  // As collectors sent it that had three clocks.
  const auto old_clock = wire::decode_clock(clock.bytes().first(28));
  REQUIRE(old_clock);
  CHECK(old_clock->cupti == 3);
  CHECK(old_clock->ticks == 0);
  for (std::size_t size = 0; size < clock.bytes().size(); ++size) {
    CHECK(wire::decode_clock(clock.bytes().first(size)).has_value() == (size == 28));
  }

  wire::Encoder statistics;
  encode(statistics, std::vector<wire::Statistic>{test::statistic("", "a", 1),
                                                  test::statistic("T", "b", UINT64_MAX)});
  const auto read_statistics = wire::decode_statistics(statistics.bytes());
  REQUIRE(read_statistics);
  REQUIRE(read_statistics->size() == 2);
  CHECK((*read_statistics)[1].kind == "T");
  CHECK((*read_statistics)[1].value == UINT64_MAX);

  wire::Encoder names;
  encode(names, std::vector<wire::ApiName>{{"runtime", 211, "cudaLaunchKernel_v7000"}});
  const auto read_names = wire::decode_api_names(names.bytes());
  REQUIRE(read_names);
  CHECK((*read_names)[0].cbid == 211);
  CHECK((*read_names)[0].name == "cudaLaunchKernel_v7000");

  wire::Encoder rows;
  rows.integer(std::uint32_t{9});
  const auto frame = test::BatchBuilder()
                         .strings({{1, "one"}, {2, ""}})
                         .bytes({{1, std::string_view("\0x", 2)}})
                         .rows(4, 1, rows)
                         .frame(3, wire::batch_salvaged);
  const auto batch = wire::decode_batch(frame.payload());
  REQUIRE(batch);
  CHECK(batch->header.flags == wire::batch_salvaged);
  REQUIRE(batch->blocks.size() == 3);
  const auto strings = wire::decode_strings(batch->blocks[0]);
  REQUIRE(strings);
  CHECK((*strings)[0].text == "one");
  CHECK((*strings)[1].id == 2);
  CHECK(batch->blocks[2].bytes.size() == 4);
}

TEST_CASE("what a later version adds behind a message is not read") {
  wire::Encoder clock;
  encode(clock, wire::Clock{wire::Clock::Moment::first, 1, 2, 3});
  clock.integer(std::uint64_t{4});
  CHECK(wire::decode_clock(clock.bytes()));
  wire::Encoder table;
  encode(table, test::tables::runtime);
  table.text("more");
  CHECK(wire::decode_table(table.bytes()));
}

TEST_CASE("messages cut short are no messages") {
  const auto check = [](const wire::Encoder& encoder, auto decode) {
    const auto all = encoder.bytes();
    REQUIRE(decode(all));
    for (std::size_t size = 0; size < all.size(); ++size) CHECK(!decode(all.first(size)));
  };
  wire::Encoder table, statistics, names;
  encode(table, test::tables::kernel);
  encode(statistics, std::vector<wire::Statistic>{test::statistic("kind", "name", 1)});
  encode(names, std::vector<wire::ApiName>{{"driver", 1, "cuInit"}});
  check(table, wire::decode_table);
  check(statistics, wire::decode_statistics);
  check(names, wire::decode_api_names);
  wire::Encoder rows;
  rows.integer(std::uint64_t{9});
  const auto frame = test::BatchBuilder().strings({{1, "one"}}).rows(4, 1, rows).frame(1);
  const auto all = frame.payload();
  for (std::size_t size = 0; size < all.size(); ++size) CHECK(!wire::decode_batch(all.first(size)));
}

TEST_CASE("frames come out whole however their bytes arrive") {
  std::vector<wire::Frame> sent;
  sent.push_back(test::hello(1, 100));
  sent.push_back(wire::make_frame(wire::FrameType::goodbye, 2, {}));
  sent.push_back(wire::make_frame(static_cast<wire::FrameType>(0xffff), 0xffffffff,
                                  std::as_bytes(std::span("abc", 3))));
  std::string bytes;
  for (const auto& frame : sent) bytes += test::bytes_of(frame);
  for (const std::size_t step : {1, 2, 3, 7, 16, 17, 1000}) {
    const auto frames = assemble(bytes, step);
    REQUIRE(frames.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      CHECK(test::bytes_of(frames[i]) == test::bytes_of(sent[i]));
    }
  }
}

TEST_CASE("memory for a frame is taken as its bytes arrive") {
  constexpr std::size_t step = 1 << 20;
  wire::FrameAssembler assembler;
  CHECK(assembler.held() == 0);
  const std::string header = test::header_bytes(8, 1, wire::max_payload);
  std::memcpy(assembler.room().data(), header.data(), header.size());
  assembler.filled(header.size());
  CHECK(assembler.held() <= 4 * step);
  for (std::size_t arrived = 0; arrived < 32 * step; arrived += step) {
    CHECK(assembler.held() <= std::max(4 * step, 2 * arrived));
    assembler.filled(std::min(step, assembler.room().size()));
  }
}

TEST_CASE("a long frame keeps its bytes while memory for it grows") {
  std::string payload(std::size_t{9'000'001}, 0);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 7 + i / 251);
  const wire::Frame sent =
      wire::make_frame(wire::FrameType::batch, 3, std::as_bytes(std::span(payload)));
  const auto frames = assemble(test::bytes_of(sent) + test::bytes_of(sent), 65'537);
  REQUIRE(frames.size() == 2);
  for (const wire::Frame& frame : frames) CHECK(test::bytes_of(frame) == test::bytes_of(sent));
}

TEST_CASE("an assembler says where no frame is, and takes nothing more") {
  for (const std::string& header :
       {test::header_bytes(0, 1, 1), test::header_bytes(0x10000, 1, 1),
        test::header_bytes(8, 1, wire::max_payload + 1), test::header_bytes(8, 1, UINT64_MAX)}) {
    wire::FrameAssembler assembler;
    std::memcpy(assembler.room().data(), header.data(), header.size());
    assembler.filled(header.size());
    CHECK(!assembler.complete());
    CHECK(!assembler.damaged().empty());
    CHECK(assembler.room().empty());
  }
  wire::FrameAssembler assembler;
  CHECK(!assembler.in_the_middle());
  const std::string longest = test::header_bytes(8, 1, wire::max_payload);
  std::memcpy(assembler.room().data(), longest.data(), longest.size());
  assembler.filled(longest.size());
  CHECK(assembler.damaged().empty());
  CHECK(assembler.in_the_middle());
}

TEST_CASE("a capture gives back the frames it was given") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  {
    wire::CaptureWriter writer(path);
    writer.write(test::hello(1, 100));
    writer.write(wire::make_frame(wire::FrameType::goodbye, 1, {}));
    writer.close();
  }
  wire::CaptureReader reader(path);
  CHECK(reader.size() == std::filesystem::file_size(path));
  wire::Frame frame;
  REQUIRE(reader.next(frame));
  CHECK(test::bytes_of(frame) == test::bytes_of(test::hello(1, 100)));
  REQUIRE(reader.next(frame));
  CHECK(frame.type == wire::FrameType::goodbye);
  CHECK(frame.length == 0);
  CHECK(!reader.next(frame));
  CHECK(!reader.next(frame));
  CHECK(reader.whole());
  CHECK(reader.damage_text().empty());
  CHECK(reader.bytes_read() == reader.size());
}

TEST_CASE("a file that is not a capture, or one of a later version, is refused with a reason") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "x.gpcap";
  const auto refused = [&](const std::string& bytes) {
    test::write_file(path, bytes);
    try {
      const wire::CaptureReader reader(path);
      return std::string();
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::import_failed);
      return std::string(error.what());
    }
  };
  CHECK_THAT(refused(""), Catch::Contains("is not a capture"));
  CHECK_THAT(refused("SQLite format 3"), Catch::Contains("is not a capture"));
  CHECK_THAT(refused(test::capture_start(wire::capture_version + 1)),
             Catch::Contains("a capture of version 3, this gpuprof reads up to 2"));
  for (std::size_t size = 0; size < 12; ++size) {
    CHECK_THAT(refused(test::capture_start().substr(0, size)), Catch::Contains("is not a capture"));
  }
  CHECK(refused(test::capture_start()).empty());
  CHECK_THROWS_AS(wire::CaptureReader(folder / "absent"), Error);
  CHECK_THROWS_AS(wire::CaptureReader(folder.path()), Error);
}

TEST_CASE("a capture that cannot be written is an error, not a silence") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(wire::CaptureWriter(folder / "no/such/folder"), Error);
  const auto fill = [] {
    wire::CaptureWriter writer("/dev/full");
    writer.write(test::hello(1, 1));
    writer.close();
  };
  CHECK_THROWS_AS(fill(), Error);
  const auto fill_much = [] {
    wire::CaptureWriter writer("/dev/full");
    const std::vector<std::byte> much(1 << 20);
    writer.write(wire::make_frame(wire::FrameType::batch, 1, much));
  };
  CHECK_THROWS_AS(fill_much(), Error);
}
