#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "libprof/store/nvtx_payloads.hpp"

using namespace gpuprof;
using store::PayloadSchemaMap;

namespace {

constexpr std::uint64_t layout = 1 << 24, inner = layout + 1, names = layout + 2;
constexpr std::uint64_t int8 = 11, uint16 = 14, int32 = 15, uint64 = 18, real32 = 43, real64 = 44,
                        character = 1, text = 75, pointer = 1 << 1, fixed = 1 << 4,
                        until_zero = 2 << 4, length_in = 3 << 4;

class Bytes {
 public:
  template <class T>
  Bytes& add(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  Bytes& text(std::string_view value) {
    for (const char c : value) add(c);
    return *this;
  }
  std::span<const std::byte> span() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// "field=value field=value"
std::string read(const Bytes& payload, const PayloadSchemaMap& schemas,
                 std::uint64_t schema = layout) {
  std::string all;
  for (const store::PayloadValue& value : store::read_payload(payload.span(), schema, schemas)) {
    if (!all.empty()) all += ' ';
    all += value.field + "=";
    if (value.integer) all += std::to_string(*value.integer);
    if (value.real) all += std::to_string(*value.real);
    if (value.text) all += "'" + *value.text + "'";
  }
  return all;
}

PayloadSchemaMap of(std::vector<wire::PayloadEntry> entries) {
  return {{layout, {1, layout, false, 0, "Layout", std::move(entries)}}};
}

}  // namespace

TEST_CASE("fields of an NVTX payload are read where its layout says") {
  const PayloadSchemaMap schemas = of({{"a", int8, 0, 0, 0},
                                       {"b", uint16, 0, 0, 2},
                                       {"c", real64, 0, 0, 8},
                                       {"d", real32, 0, 0, 4},
                                       {"e", uint64, 0, 0, 16}});
  Bytes payload;
  payload.add<std::int8_t>(-3).add<char>(0).add<std::uint16_t>(65535).add(0.5f).add(-2.25);
  payload.add<std::uint64_t>(7);
  CHECK(read(payload, schemas) == "a=-3 b=65535 c=-2.250000 d=0.500000 e=7");
}

TEST_CASE("without offsets the fields lie as in a structure of C") {
  const PayloadSchemaMap schemas =
      of({{"a", int8, 0, 0, 0}, {"b", uint64, 0, 0, 0}, {"c", int32, 0, 0, 0}});
  Bytes payload;
  payload.add<std::int8_t>(1).text(std::string_view("\0\0\0\0\0\0\0", 7));
  payload.add<std::uint64_t>(2).add<std::int32_t>(3);
  CHECK(read(payload, schemas) == "a=1 b=2 c=3");
}

TEST_CASE("values of an enum have their names, layouts inside layouts their prefix") {
  PayloadSchemaMap schemas = of({{"operation", names, 0, 0, 0}, {"peer", inner, 0, 0, 4}});
  schemas[names] = {1, names,       true,
                    4, "Operation", {{"send", 1, 0, 0, 0}, {"receive", 2, 0, 0, 0}}};
  schemas[inner] = {1, inner,  false,
                    8, "Peer", {{"rank", int32, 0, 0, 0}, {"lane", int32, 0, 0, 4}}};
  Bytes payload;
  payload.add<std::uint32_t>(2).add<std::int32_t>(5).add<std::int32_t>(6);
  CHECK(read(payload, schemas) == "operation=2'receive' peer.rank=5 peer.lane=6");
  Bytes unknown;
  unknown.add<std::uint32_t>(9).add<std::int32_t>(5).add<std::int32_t>(6);
  CHECK(read(unknown, schemas) == "operation=9 peer.rank=5 peer.lane=6");
}

TEST_CASE("arrays and texts") {
  const PayloadSchemaMap schemas = of({{"count", int32, 0, 0, 0},
                                       {"fixed", uint16, fixed, 2, 4},
                                       {"label", text, fixed, 4, 8},
                                       {"letters", character, fixed, 4, 12},
                                       {"counted", int32, length_in, 0, 16},
                                       {"ended", int32, until_zero, 0, 16}});
  Bytes payload;
  payload.add<std::int32_t>(2).add<std::uint16_t>(8).add<std::uint16_t>(9).text("ab");
  payload.text(std::string_view("\0x", 2)).text("wxyz");
  payload.add<std::int32_t>(1).add<std::int32_t>(2).add<std::int32_t>(3).add<std::int32_t>(0);
  CHECK(read(payload, schemas) ==
        "count=2 fixed[0]=8 fixed[1]=9 label='ab' letters='wxyz' counted[0]=1 counted[1]=2 "
        "ended[0]=1 ended[1]=2 ended[2]=3");
}

TEST_CASE("a payload of one of NVTX's own types has no layout") {
  Bytes number, words;
  number.add<std::int32_t>(-9);
  words.text("hello");
  CHECK(read(number, {}, int32) == "=-9");
  CHECK(read(words, {}, text) == "='hello'");
  CHECK(read(words, {}, layout) == "");
  CHECK(read(words, {}, 0) == "");
}

TEST_CASE("what a forged layout says leads nowhere") {
  Bytes payload;
  payload.add<std::uint64_t>(0x4141414141414141);
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  // Past the end, or half of it.
  CHECK(read(payload, of({{"a", int32, 0, 0, 5},
                          {"b", int32, 0, 0, huge},
                          {"c", uint64, 0, 0, 8},
                          {"d", text, fixed, huge, 7},
                          {"e", text, 0, 0, 9}})) == "d='A'");
  // Memory of the program's, or a length that makes no sense.
  CHECK(read(payload, of({{"a", uint64, pointer, 0, 0},
                          {"b", int8, length_in, 99, 0},
                          {"c", int8, length_in, 1, 0}})) == "");
  CHECK(read(payload, of({{"a", int32, fixed, huge, 0}})) == "a[0]=1094795585 a[1]=1094795585");
  CHECK(read(payload, of({{"a", int32, fixed, huge, 0}, {"b", int8, 0, 0, 0}})) ==
        "a[0]=1094795585 a[1]=1094795585");
  // Inside itself, and of no size.
  CHECK(read(payload, of({{"a", layout, 0, 0, 0}})) == "");
  CHECK(read(payload, of({{"a", layout, fixed, huge, 0}})) == "");
  CHECK(read(payload, of({{"a", 9999, 0, 0, 0}})) == "");
  // Twice inside itself, again and again: bounded.
  const PayloadSchemaMap twice = of({{"a", layout, 0, 0, 0}, {"b", layout, 0, 0, 0}});
  CHECK(read(payload, twice) == "");
  const std::vector<wire::PayloadEntry> itself(4096, {"x", layout, 0, 0, 0});
  CHECK(read(payload, of(itself)) == "");
  std::vector<wire::PayloadEntry> many(4096, {"x", int8, fixed, huge, 1});
  CHECK(store::read_payload(payload.span(), layout, of(std::move(many))).size() ==
        store::most_values);
}
