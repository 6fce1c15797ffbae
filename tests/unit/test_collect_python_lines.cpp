#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/python/lines.hpp"

using gpuprof::python::PythonLine;
using gpuprof::python::PythonLineByPairs;

namespace {

// Of functions that python3 compiled: co_linetable, and what co_lines() says. They begin in
// line 41.
struct Code {
  struct Run {
    std::uint64_t end;  // code units
    std::uint32_t line;
  };
  std::string_view table;  // hexadecimal
  std::vector<Run> runs;
};

// def spread(a, b):
//     total = sum(
//         [
//             a,
//             b
//             + 1,
//         ]
//     )
//     for i in range(total):
//         try:
//             print(
//                 i
//             )
//         except ValueError as e:
//             raise KeyError(
//                 i) from e
//         finally:
//             total -= i
//     with open(a) as f:
//         return [x for x in f
//                 if x]
//
// def far(a):
//     x = a(1,
//     (70 empty lines)
//         2)
//     return x
const Code spread_3_11{
    "8000dd0c0fe00c0dd80c0dd80e0ff103010d10f00504090af103060d06f400060d068045f50e000e139035895c8c"
    "5cf000090517f0000905178801f002080917dd0c11d81011f103020d0ef400020d0ef000020d0ef000020d0ef8f5"
    "0600101af00002091af00002091af00002091add121ad81011f103011313f400011313d81819f003010d1af8f8f8"
    "f8f00302091af8f8f8f007020d0ef00e000d129051894a88458845f888459051894a88458845884588458845dd09"
    "0d886189178c17f0000205169041f002011016f0000110169831f000011016f100011016f400011016f003020516"
    "f000020516f000020516f000020516f100020516f400020516f000020516f000020516f000020516f000020516f0"
    "00020516f000020516f8f8f8f000020516f000020516f000020516f000020516f000020516f000020516",
    {{1, 41},  {7, 42},  {8, 44},   {9, 45},   {10, 46},  {12, 45},  {13, 43}, {21, 42},
     {38, 49}, {39, 50}, {45, 51},  {46, 52},  {55, 51},  {56, 0},   {65, 54}, {71, 55},
     {72, 56}, {79, 55}, {80, 56},  {81, 55},  {85, 0},   {86, 54},  {89, 0},  {90, 51},
     {96, 58}, {97, 0},  {106, 58}, {122, 59}, {133, 60}, {150, 59}, {153, 0}, {159, 59}}};

const Code far_3_11{"8000d8080988018821f04e0200090af14f024701090bf4004701090b8041f05002000c0d8048",
                    {{1, 41}, {4, 42}, {5, 113}, {13, 42}, {15, 114}}};

const Code spread_3_14{
    "8000dc0c0fe00c0dd80c0dd80e0ff503010d10f00504090af303060d068045f40e000e1390358e5c8801f0020809"
    "17dc0c11d81011f503020d0ef00e000d128d4a8a45f113000e1af414000a0e88618f178c179041d91b1cf3000110"
    "1699319061dc1314f70300111290019931f100011016f703000a118a17f8f40b00101af40002091adc121ad81011"
    "f303011313d81819f003010d1afbf00302091afbf008000d128d4a8945fcf204011016f703000a118f178817fa",
    {{1, 41},   {6, 42},   {7, 44},   {8, 45},   {9, 46},   {15, 45},  {16, 43},
     {21, 42},  {35, 49},  {36, 50},  {41, 51},  {42, 52},  {48, 51},  {58, 58},
     {60, 49},  {80, 59},  {89, 60},  {94, 61},  {107, 60}, {118, 59}, {119, 0},
     {129, 54}, {134, 55}, {135, 56}, {139, 55}, {140, 56}, {141, 55}, {145, 0},
     {146, 54}, {150, 0},  {159, 58}, {164, 0},  {167, 60}, {184, 59}, {187, 0}}};

std::vector<std::uint8_t> bytes_of(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// co_linetable and co_lnotab of older Python. `far_back`: a loop whose body is 300 lines below its
// head.
const Code spread_3_10{
    "020102020201020102ff02fe04ff0c0704010201020108ff0e030201020102ff020102ff088002ff02fd14070a01"
    "0c0124ff",
    {{1, 42},  {2, 44},  {3, 45},  {4, 46},  {5, 45},  {6, 43},  {8, 42},  {14, 49}, {16, 50},
     {17, 51}, {18, 52}, {22, 51}, {29, 54}, {30, 55}, {31, 56}, {32, 55}, {33, 56}, {34, 55},
     {38, 0},  {39, 54}, {40, 51}, {50, 58}, {55, 59}, {61, 60}, {79, 59}}};
const Code far_back_3_10{"0801007f007f0a2f0081008104d1", {{4, 42}, {9, 343}, {11, 42}}};
const Code spread_3_9{
    "000102020201020102ff02fe02ff04070c010401020102ff08030e01020102ff020102ff1a0316010a01",
    {{1, 42},  {2, 44},  {3, 45},  {4, 46},  {5, 45},  {6, 43},  {8, 42},
     {14, 49}, {16, 50}, {17, 51}, {18, 52}, {22, 51}, {29, 54}, {30, 55},
     {31, 56}, {32, 55}, {33, 56}, {46, 55}, {57, 58}, {62, 59}, {86, 60}}};
const Code far_back_3_9{"0001087f007f002f", {{4, 42}, {11, 343}}};

template <class Line>
std::uint32_t find_line(const std::vector<std::uint8_t>& table, Line line, std::size_t piece) {
  const std::span all(table);
  for (std::size_t at = 0; at < all.size(); at += piece) {
    if (!line.wants(all.subspan(at, std::min(piece, all.size() - at)))) break;
  }
  return line.line();
}
std::uint32_t line_of(const std::vector<std::uint8_t>& table, std::uint64_t unit,
                      std::size_t piece) {
  return find_line(table, PythonLine(41, unit), piece);
}

// `line_at(unit)`: finds the line of that instruction; `after`: of one past the end.
void check_lines(const Code& code, auto&& line_at, std::uint32_t after) {
  const auto table = bytes_of(code.table);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, table.size()}) {
    std::uint64_t unit = 0;
    for (const Code::Run& run : code.runs) {
      for (; unit < run.end; ++unit) {
        INFO("unit " << unit << ", in pieces of " << piece);
        CHECK(find_line(table, line_at(unit), piece) == run.line);
      }
    }
    CHECK(find_line(table, line_at(unit), piece) == after);
  }
}

}  // namespace

TEST_CASE("lines of instructions of Python") {
  for (const Code* code : {&spread_3_11, &far_3_11, &spread_3_14}) {
    check_lines(
        *code, [](std::uint64_t unit) { return PythonLine(41, unit); }, 0);
  }
  for (const Code* code : {&spread_3_10, &far_back_3_10}) {
    check_lines(
        *code, [](auto unit) { return PythonLineByPairs(41, unit, false); }, 0);
  }
  // The last line of 3.9 has no end.
  for (const Code* code : {&spread_3_9, &far_back_3_9}) {
    const std::uint32_t last = code->runs.back().line;
    check_lines(
        *code, [](auto unit) { return PythonLineByPairs(41, unit, true); }, last);
  }
}

TEST_CASE("a table of lines that is none does no harm") {
  CHECK(line_of({}, 0, 1) == 0);
  CHECK(line_of(std::vector<std::uint8_t>(64, 0x7f), 0, 5) == 0);
  // A difference that has no end, one below the first line, one that is too large.
  CHECK(line_of({0xe8, 0xff, 0xff}, 9, 3) == 0);
  CHECK(line_of({0xe8, 0x7f, 0x03}, 0, 3) == 0);
  CHECK(line_of({0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f}, 0, 7) == 0);
  CHECK(line_of({0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f}, 0, 9) == 0);
  // Lines below the first one, a pair that lacks a byte, none at all.
  CHECK(find_line({8, 0x81}, PythonLineByPairs(41, 0, false), 2) == 0);
  CHECK(find_line({8}, PythonLineByPairs(41, 0, false), 1) == 0);
  CHECK(find_line({}, PythonLineByPairs(41, 0, true), 1) == 41);
}
