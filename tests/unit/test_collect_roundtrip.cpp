// Every column of every kind, from CUPTI's record to the database.
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/store/loader.hpp"
#include "schema/activity/all.hpp"
#include "schema/run.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using schema::Type;

namespace {

// A record in which each byte differs from its neighbours and none is 0 or 255, and what its
// pointers lead to.
template <class K>
struct Made {
  typename K::Record record;
  std::deque<std::string> texts;
  std::uint32_t ports[32] = {3, 1, 4, 1, 5, 9, 2, 6};

  explicit Made(std::uint32_t version) {
    auto* bytes = reinterpret_cast<unsigned char*>(&record);
    for (std::size_t i = 0; i < sizeof record; ++i) {
      bytes[i] = static_cast<unsigned char>(0x21 + i * 37 % 0x5d);
    }
    record.kind = static_cast<CUpti_ActivityKind>(K::info.id);
    for (const schema::Field& field : K::fields) {
      const bool text = field.column.type == Type::string;
      if (field.extract || field.find || (!text && field.column.type != Type::bytes)) continue;
      texts.push_back(std::string(K::info.table) + "." + std::string(field.column.name));
      const char* there = texts.back().c_str();
      std::memcpy(bytes + field.offset, &there, sizeof there);
      const auto size = static_cast<std::uint32_t>(texts.back().size());
      if (!text) std::memcpy(bytes + field.size_offset, &size, sizeof size);
    }
    if constexpr (std::is_same_v<K, schema::NvLink>) {
      if (version >= schema::extract::nvlink5_since) {
        record.portDev0 = record.portDev1 = ports;
        record.physicalNvLinkCount = 8;
      }
    }
  }

  // As SQLite shows it: numbers in digits, bytes as they are, nothing for NULL.
  std::optional<std::string> expected(const schema::Field& field, std::uint32_t version) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(&record);
    const schema::Column& column = field.column;
    if (version < field.since || field.find) return std::nullopt;
    if (!field.extract && (column.type == Type::string || column.type == Type::bytes)) {
      const char* text;
      std::memcpy(&text, bytes + field.offset, sizeof text);
      return text;
    }
    std::vector<std::byte> value(bytes + field.offset, bytes + field.offset + column.width);
    if (field.extract) field.extract(&record, version, value.data());
    const auto as = [&]<class T>(T number) -> std::optional<std::string> {
      std::memcpy(&number, value.data(), sizeof number);
      const T none =
          std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
      if (column.role == schema::Role::nullable && number == none) return std::nullopt;
      return std::to_string(static_cast<std::int64_t>(number));
    };
    switch (column.type) {
      case Type::i8: return as(std::int8_t{});
      case Type::u8: return as(std::uint8_t{});
      case Type::i16: return as(std::int16_t{});
      case Type::u16: return as(std::uint16_t{});
      case Type::i32: return as(std::int32_t{});
      case Type::u32: return as(std::uint32_t{});
      case Type::i64: return as(std::int64_t{});
      case Type::u64: return as(std::uint64_t{});
      case Type::f64: {
        double number;
        std::memcpy(&number, value.data(), sizeof number);
        if (number != number) return std::nullopt;
        return std::to_string(number);
      }
      default: return std::string(reinterpret_cast<const char*>(value.data()), value.size());
    }
  }
};

template <class K>
void there_and_back(std::uint32_t version) {
  INFO(K::info.table << " of CUPTI " << version);
  collect::Arena arena;
  REQUIRE(arena.create(4, 1 << 16));
  collect::LiveStrings strings(arena);
  collect::Packer packer(version, strings, collect::Packer::Records::live);
  const Made<K> made(version);
  packer.add(reinterpret_cast<const CUpti_Activity*>(&made.record));
  REQUIRE(packer.records() == 1);

  store::Loader loader(test::empty_profile(), {});
  loader.load(test::hello(1, 100));
  for (const wire::WireTable& table : collect::wire_tables(version)) {
    if (table.id == static_cast<std::uint32_t>(K::info.id)) loader.load(test::table(1, table));
  }
  const collect::Batch batch(packer, {wire::no_slot, 0, 0, 0});
  wire::Encoder bytes;
  for (const iovec& piece : batch.pieces()) {
    bytes.raw({static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
  }
  loader.load(test::frame_of(wire::FrameType::batch, 1, bytes));
  loader.commit();

  const std::string from = "\" FROM " + std::string(K::info.table);
  for (const schema::Field& field : K::fields) {
    const std::string name(field.column.name);
    INFO(name);
    const bool text = field.column.type == Type::string;
    store::Statement row = loader.database().prepare(
        text ? "SELECT value FROM StringTable WHERE _id_ = (SELECT \"" + name + from + ")"
             : "SELECT \"" + name + from);
    REQUIRE(row.step());
    std::optional<std::string> found;
    if (!row.is_null(0)) {
      found =
          field.column.type == Type::f64 ? std::to_string(row.real(0)) : std::string(row.text(0));
      const auto blob = row.blob(0);
      if (field.column.type == Type::blob || field.column.type == Type::bytes) {
        found = std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
      }
    }
    // NULL is StringTable's row 0.
    if (text && found == schema::null_string) found.reset();
    CHECK(found == made.expected(field, version));
  }
  CHECK(loader.database().integer("SELECT count(*) FROM " + std::string(K::info.table)) == 1);
}

}  // namespace

TEST_CASE("each column of each kind has what CUPTI wrote, from the oldest version to the newest") {
  std::size_t kinds = 0;
  schema::for_each_kind([&]<class K>() {
    for (const std::uint32_t version : {24u, 130000u, 130500u}) there_and_back<K>(version);
    ++kinds;
  });
  CHECK(kinds == schema::kinds.size());
}
