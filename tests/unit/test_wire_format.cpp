// The example in libprof/wire/FORMAT.md is what it says it is.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "libprof/wire/capture.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;

namespace {

// The bytes at the beginning of the indented lines under "## An example".
std::string example_bytes() {
  std::ifstream page(GPUPROF_SOURCE_DIR "/libprof/wire/FORMAT.md");
  std::string line, bytes;
  while (std::getline(page, line) && line != "## An example") {
  }
  while (std::getline(page, line) && !line.starts_with("## ")) {
    if (!line.starts_with("    ")) continue;
    std::istringstream words(line.substr(0, 54));
    for (std::string word; words >> word;) {
      bytes += static_cast<char>(std::stoi(word, nullptr, 16));
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("the example of the format's page is a capture") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "example.gpcap", example_bytes());
  wire::CaptureReader reader(folder / "example.gpcap");
  wire::Frame frame;
  REQUIRE(reader.next(frame));
  REQUIRE(frame.type == wire::FrameType::table);
  CHECK(frame.stream == 1);
  const auto table = wire::decode_table(frame.payload());
  REQUIRE(table);
  CHECK(table->id == 10);
  CHECK(table->name == "T");
  REQUIRE(table->columns.size() == 2);
  CHECK(table->columns[0].name == "end");
  CHECK(table->columns[0].type == schema::Type::u64);
  CHECK(table->columns[0].doc == "ns");
  CHECK(table->columns[1].type == schema::Type::string);
  REQUIRE(reader.next(frame));
  REQUIRE(frame.type == wire::FrameType::batch);
  const auto batch = wire::decode_batch(frame.payload());
  REQUIRE(batch);
  CHECK(batch->header.slot == 3);
  CHECK(batch->header.generation == 7);
  REQUIRE(batch->blocks.size() == 2);
  const auto strings = wire::decode_strings(batch->blocks[0]);
  REQUIRE(strings);
  CHECK((*strings)[0].text == "_Z");
  CHECK(batch->blocks[1].table == 10);
  CHECK(wire::load<std::uint64_t>(batch->blocks[1].bytes.data()) == 1000);
  CHECK(!reader.next(frame));
  CHECK(reader.whole());
}
