// Source lines of a cubin: those that CUPTI gives for it, and none of what makes no sense.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "libprof/names/cubin_lines.hpp"

using namespace gpuprof;

namespace {

constexpr std::string_view strided = "_Z7stridedPKfPfi";

std::string cubin() {
  std::ifstream file(GPUPROF_SOURCE_DIR "/tests/captures/strided.cubin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CubinLines lines_of(const std::string& bytes) {
  return {std::as_bytes(std::span(bytes)), [](std::string_view) { return true; }};
}

std::string line(const CubinLines& lines, std::string_view function, std::uint64_t offset) {
  const auto found = lines.find(function, offset);
  return found ? std::string(found->file) + ":" + std::to_string(found->number) : "";
}

}  // namespace

TEST_CASE("Source lines are those that CUPTI gives") {
  const CubinLines lines = lines_of(cubin());
  // Where they change, by cuptiGetSassToSourceCorrelation of libcupti 13.1.
  const std::map<std::uint64_t, int> expected{
      {0x0, 4},    {0x10, 8},   {0x20, 5},   {0x40, 7},   {0x50, 5},   {0x60, 8},   {0xa0, 5},
      {0xc0, 8},   {0xe0, 7},   {0xf0, 8},   {0x140, 7},  {0x160, 8},  {0x1050, 7}, {0x1090, 8},
      {0x1160, 7}, {0x1170, 9}, {0x1180, 2}, {0x11a0, 9}, {0x11c0, 10}};
  for (std::uint64_t offset = 0; offset < 0x1280; offset += 16) {
    const int number = std::prev(expected.upper_bound(offset))->second;
    CHECK(line(lines, strided, offset) == "/examples/strided.cu:" + std::to_string(number));
  }
  CHECK(line(lines, strided, 0x1280).empty());
  CHECK(line(lines, "_Z5otherPf", 0) == "/examples/strided.cu:11");
  CHECK(line(lines, "nobody", 0).empty());
}

TEST_CASE("Lines of functions that nobody asks for are not kept") {
  const std::string bytes = cubin();
  const CubinLines lines(std::as_bytes(std::span(bytes)),
                         [](std::string_view function) { return function == strided; });
  CHECK_FALSE(line(lines, strided, 0).empty());
  CHECK(line(lines, "_Z5otherPf", 0).empty());
}

TEST_CASE("A cubin that is damaged has the lines that can be read, and harms nobody") {
  const std::string whole = cubin();
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    line(lines_of(whole.substr(0, size)), strided, 0x20);
  }
  // Its line table, and the header in front.
  const std::size_t table = 0x560;
  for (std::size_t at = 0; at < table + 0xd0; at += at < 64 || at > table ? 1 : 37) {
    for (const char value : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      line(lines_of(damaged), strided, 0x20);
    }
  }
  CHECK(line(lines_of(""), strided, 0).empty());
}
