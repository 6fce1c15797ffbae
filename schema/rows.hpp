// Definitions for tables of packed rows that gpuprof itself produces: what it measured, sampled or
// computed while a program runs. A table is one block: its columns, their docs, and where each gets
// its value from.
//
//   struct MetricValue {
//     struct Row { … };                       the source of a row
//     static constexpr std::array fields{
//         field<Row>("metric", "METRIC it is a value of", [](const Row& row) { return row.metric;
//         }), …};
//     static constexpr auto columns = columns_of_rows(fields);
//     static constexpr Table table{…, .origin = Origin::own};
//     static constexpr std::uint32_t id = first_row_table + 1;     on the wire
//   };
//
// The type of a column is the return type of its function: a number, a std::optional of one
// (nullopt: NULL), or one of the structs below. wire/row_sender.hpp sends the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "schema/column.hpp"

namespace gpuprof::schema {

// Ids of these tables in a stream start here; lower ones are CUPTI's activity kinds.
inline constexpr std::uint32_t first_row_table = 0x10000;

struct RowNumber {  // the row's own number, for column _id_; unique in a file
  std::uint64_t number;
};
struct Correlation {  // CUPTI's id; 0: NULL
  std::uint32_t id;
};
struct StringId {  // a StringTable id in the database; empty: NULL
  std::string_view text;
};
struct Text {  // empty: NULL
  std::string_view text;
};
struct EightBytes {  // a BLOB
  std::uint64_t bits;
};

// Destination of a row.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void bytes(std::span<const std::byte> value) = 0;
  // Numbers that represent texts in a row; 0 for an empty one.
  virtual std::uint32_t name(std::string_view text) = 0;
  virtual std::uint32_t text(std::string_view text) = 0;
};

namespace rows {

template <class T>
void put(RowSink& sink, T value) {
  static_assert(std::is_arithmetic_v<T>);
  sink.bytes(std::as_bytes(std::span(&value, 1)));
}
template <class T>
void put(RowSink& sink, const std::optional<T>& value) {
  using Limits = std::numeric_limits<T>;
  put(sink, value.value_or(std::is_floating_point_v<T> ? Limits::quiet_NaN()
                           : std::is_signed_v<T>       ? Limits::min()
                                                       : Limits::max()));
}
inline void put(RowSink& sink, RowNumber value) { put(sink, value.number); }
inline void put(RowSink& sink, Correlation value) { put(sink, value.id); }
inline void put(RowSink& sink, StringId value) { put(sink, sink.name(value.text)); }
inline void put(RowSink& sink, Text value) { put(sink, sink.text(value.text)); }
inline void put(RowSink& sink, EightBytes value) { put(sink, value.bits); }

template <class T>
consteval Type integer_type() {
  constexpr bool negative = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return negative ? Type::i8 : Type::u8;
    case 2: return negative ? Type::i16 : Type::u16;
    case 4: return negative ? Type::i32 : Type::u32;
    default: return negative ? Type::i64 : Type::u64;
  }
}

template <class T>
struct Packed {
  static constexpr Type type = std::is_same_v<T, double> ? Type::f64 : integer_type<T>();
  static constexpr Role role = Role::plain;
};
template <class T>
struct Packed<std::optional<T>> {
  static constexpr Type type = Packed<T>::type;
  static constexpr Role role = Role::nullable;
};
template <>
struct Packed<RowNumber> {
  static constexpr Type type = Type::u64;
  static constexpr Role role = Role::number;
};
template <>
struct Packed<Correlation> {
  static constexpr Type type = Type::u32;
  static constexpr Role role = Role::correlation_or_null;
};
template <>
struct Packed<StringId> {
  static constexpr Type type = Type::string;
  static constexpr Role role = Role::nullable;
};
template <>
struct Packed<Text> {
  static constexpr Type type = Type::text;
  static constexpr Role role = Role::plain;
};
template <>
struct Packed<EightBytes> {
  static constexpr Type type = Type::blob;
  static constexpr Role role = Role::plain;
};

}  // namespace rows

template <class Row>
struct RowField {
  Column column;
  void (*write)(const Row& row, RowSink& sink);
};

// `get` must not capture anything.
template <class Row, class Get>
consteval RowField<Row> field(std::string_view name, Doc doc, Get) {
  using Packed = rows::Packed<std::invoke_result_t<Get, const Row&>>;
  return {.column = {.name = name,
                     .type = Packed::type,
                     .width = Packed::type == Type::blob ? std::uint16_t{sizeof(EightBytes)}
                                                         : width_of(Packed::type),
                     .role = Packed::role,
                     .doc = doc.text,
                     .unit = doc.unit},
          .write = [](const Row& row, RowSink& sink) { rows::put(sink, Get{}(row)); }};
}

// The columns of a table of such rows; if rows have an _id_, it is the first field.
template <class Row, std::size_t N>
consteval bool has_number(const std::array<RowField<Row>, N>& fields) {
  return fields[0].column.role == Role::number;
}

template <auto& fields>
inline constexpr auto columns_of_rows = [] {
  constexpr std::size_t numbers = has_number(fields) ? 1 : 0;
  std::array<Column, fields.size() - numbers> columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = fields[i + numbers].column;
  return columns;
}();

}  // namespace gpuprof::schema
