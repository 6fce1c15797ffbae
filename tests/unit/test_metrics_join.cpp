// Later runs joined with the first.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "libprof/metrics/launch_table.hpp"
#include "libprof/wire/stream_error.hpp"

using namespace gpuprof;
using metrics::LaunchTable;

namespace {

wire::MeasuredRange launch(std::uint64_t ordinal, std::uint32_t name, std::uint32_t blocks,
                           std::uint32_t correlation = 0) {
  wire::MeasuredRange range{};
  range.ordinal = ordinal;
  range.correlation = correlation;
  range.name = name;
  range.grid[0] = blocks;
  range.grid[1] = range.grid[2] = 1;
  range.block[0] = 256;
  range.block[1] = range.block[2] = 1;
  range.wanted = 1;
  return range;
}

// A table with 1000 launches in context 7 of process 0, of "even" and "odd" in turn, in two parts.
void fill(LaunchTable& table) {
  for (std::uint64_t from : {1u, 501u}) {
    wire::CounterData list{};
    list.group = wire::launch_list;
    list.context_number = 7;
    list.names = from == 1 ? std::vector<std::string>{"even", "odd"}
                           : std::vector<std::string>{"odd", "even"};  // numbers are the frame's
    for (std::uint64_t i = from; i < from + 500; ++i) {
      const bool odd = i % 2 == 1;
      const std::uint32_t name = odd == (from == 1) ? 2 : 1;
      list.ranges.push_back(launch(i, name, 4, static_cast<std::uint32_t>(10 * i)));
    }
    table.add(0, list);
  }
}

metrics::MeasuredValues values(std::vector<wire::MeasuredRange> ranges) {
  metrics::MeasuredValues result{};
  result.names = {"odd", "even"};
  result.metrics = {1, 2};
  result.values.assign(2 * ranges.size(), 1.0);
  result.ranges = std::move(ranges);
  return result;
}

}  // namespace

TEST_CASE("launches of a later run get the ids of the first") {
  LaunchTable table(std::filesystem::temp_directory_path());
  fill(table);
  CHECK(table.launches(0) == 1000);
  CHECK(table.launches(1) == 0);
  auto later = values({launch(1, 1, 4), launch(2, 2, 4), launch(999, 1, 4), launch(1000, 2, 4)});
  CHECK(table.join(0, 7, later) == 0);
  CHECK(later.ranges[0].correlation == 10);
  CHECK(later.ranges[1].correlation == 20);
  CHECK(later.ranges[2].correlation == 9990);
  CHECK(later.ranges[3].correlation == 10000);
  CHECK(later.notes.empty());
}

TEST_CASE("what is another launch is not joined, and loses its values") {
  LaunchTable table(std::filesystem::temp_directory_path());
  fill(table);
  auto later = values({launch(1, 2, 4), launch(2, 2, 5), launch(3, 1, 4), launch(1001, 1, 4)});
  CHECK(table.join(0, 7, later) == 3);
  for (const std::size_t lost : {0, 1, 3}) {
    INFO(lost);
    CHECK(later.ranges[lost].correlation == 0);
    CHECK(std::isnan(later.values[2 * lost]));
    CHECK(std::isnan(later.values[2 * lost + 1]));
    REQUIRE(later.ranges[lost].note > 0);
  }
  CHECK(later.notes[later.ranges[0].note - 1] == "the first run launched another kernel here");
  CHECK(later.notes[later.ranges[1].note - 1] == "the first run launched another kernel here");
  CHECK(later.notes[later.ranges[3].note - 1] == "the first run has no such launch");
  CHECK(later.ranges[2].correlation == 30);
  CHECK(later.values[4] == 1.0);
}

TEST_CASE("another process or context has launches of its own") {
  LaunchTable table(std::filesystem::temp_directory_path());
  fill(table);
  for (const auto& [process, context] : {std::pair{1u, 7u}, std::pair{0u, 8u}}) {
    auto later = values({launch(1, 1, 4)});
    CHECK(table.join(process, context, later) == 1);
    CHECK(later.ranges[0].correlation == 0);
  }
}

namespace {

wire::CounterData list_of(std::uint32_t context, std::uint64_t ordinal) {
  wire::CounterData list{};
  list.group = wire::launch_list;
  list.context_number = context;
  list.names = {"odd"};
  list.ranges.push_back(launch(ordinal, 1, 4, 10));
  return list;
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a launch with a number that there cannot be concerns its stream only") {
  LaunchTable table(std::filesystem::temp_directory_path());
  for (const std::uint64_t ordinal :
       {std::uint64_t{0}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    INFO(ordinal);
    CHECK_THROWS_AS(table.add(0, list_of(7, ordinal)), wire::StreamError);
    auto later = values({launch(ordinal, 1, 4)});
    CHECK(table.join(0, 7, later) == 1);
  }
  fill(table);
  auto later = values({launch(1, 1, 4)});
  CHECK(table.join(0, 7, later) == 0);
}

TEST_CASE("launches of however many contexts take one descriptor, and a limited number of blocks") {
  constexpr std::size_t most_blocks = 500;
  LaunchTable table(std::filesystem::temp_directory_path(), most_blocks);
  table.add(0, list_of(0, 1));
  const std::size_t open = open_files();
  for (std::uint32_t context = 1; context < 1000; ++context) table.add(0, list_of(context, 1));
  CHECK(open_files() == open);
  fill(table);                       // of process 0: there is no room left
  table.add(1, list_of(999, 4097));  // another has its own
  std::size_t joined = 0;
  for (std::uint32_t context = 0; context < 1000; ++context) {
    auto later = values({launch(1, 1, 4)});
    joined += table.join(0, context, later) == 0;
  }
  CHECK(joined == most_blocks);
  auto later = values({launch(4097, 1, 4)});
  CHECK(table.join(1, 999, later) == 0);
}
