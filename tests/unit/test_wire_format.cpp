// The example in libprof/wire/FORMAT.md is what it says it is.
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "libprof/wire/capture.hpp"
#include "libprof/wire/limits.hpp"
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

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// Those that a header defines.
void add_limits(const char* header, std::set<std::string>& names) {
  std::ifstream file(std::string(GPUPROF_SOURCE_DIR "/libprof/wire/") + header);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find(" max_");
    if (!line.starts_with("inline constexpr ") || begin == line.npos) continue;
    names.insert(line.substr(begin + 1, line.find(" =", begin) - begin - 1));
  }
}

}  // namespace

TEST_CASE("the design's table of limits is that of the code") {
  std::set<std::string> rows, names;
  const auto limit = [&](const std::string& name, std::uint64_t value) {
    rows.insert(name + "` | " + with_commas(value));
    names.insert(name);
  };
#define LIMIT(NAME) limit(#NAME, wire::NAME)
  LIMIT(max_payload);
  LIMIT(max_small_payload);
  LIMIT(max_fields);
  LIMIT(max_blocks);
  LIMIT(max_strings);
  LIMIT(max_byte_strings);
  LIMIT(max_statistics);
  LIMIT(max_api_names);
  LIMIT(max_payload_entries);
  LIMIT(max_callback_id);
  LIMIT(max_metrics);
  LIMIT(max_texts);
  LIMIT(max_code_places);
  LIMIT(max_code_counters);
  LIMIT(max_code_contexts);
  LIMIT(max_partitions);
  LIMIT(max_code_functions);
  LIMIT(max_name);
  LIMIT(max_columns);
  LIMIT(max_string_id);
  LIMIT(max_joined_batch);
  LIMIT(max_definitions);
  LIMIT(max_definition_bytes);
  LIMIT(max_new_tables);
  LIMIT(max_stream_columns);
  LIMIT(max_counted);
  LIMIT(max_diagnostics);
  LIMIT(max_diagnostic_bytes);
  LIMIT(max_run_diagnostics);
  LIMIT(max_clocks);
  LIMIT(max_stream_api_names);
  LIMIT(max_stream_payload_entries);
  LIMIT(max_open_ranges);
  LIMIT(max_streams);
  LIMIT(max_run_tables);
  LIMIT(max_run_columns);
  LIMIT(max_connections_of_process);
  LIMIT(max_unfinished_bytes);
  LIMIT(max_launch_blocks);
  LIMIT(max_run_launch_blocks);
#undef LIMIT
  std::set<std::string> table;
  std::ifstream page(GPUPROF_SOURCE_DIR "/docs/design/road.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `max_")) continue;
    const std::size_t end = line.find(" |", line.find("` | ") + 4);
    table.insert(line.substr(3, end - 3));
  }
  CHECK(table == rows);
  // All limits of the code are in the list.
  std::set<std::string> there;
  add_limits("limits.hpp", there);
  add_limits("format.hpp", there);
  there.erase("max_capture_number");  // of files, not of what is in them
  CHECK(there == names);
}

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
