#include "libprof/read/columns/value.hpp"

#include <string>

namespace gpuprof::columns {

void add_value(Chunk& chunk, std::size_t index, const Value& value) {
  using store::ValueType;
  Column& column = chunk.column(index);
  const bool whole = value.type == ValueType::integer;
  switch (column.type()) {
    case Type::int64:
      if (!whole) break;
      *column.grow_int64s(1) = value.integer;
      return;
    case Type::int32:
    case Type::name:
    case Type::enumeration:
      if (!whole || value.integer != static_cast<std::int32_t>(value.integer)) break;
      *column.grow_int32s(1) = static_cast<std::int32_t>(value.integer);
      return;
    case Type::boolean:
      if (!whole) break;
      *column.grow_booleans(1) = value.integer != 0;
      if (value.integer != 0 && value.integer != 1) chunk.add_misfit();
      return;
    case Type::float64:
      if (!whole && value.type != ValueType::real) break;
      *column.grow_doubles(1) = whole ? static_cast<double>(value.integer) : value.real;
      return;
    case Type::text:
      if (whole) {
        chunk.add_misfit();
        return column.add_text(std::to_string(value.integer));
      }
      if (value.type != ValueType::text) break;
      return column.add_text(value.bytes);
    case Type::blob:
      if (value.type != ValueType::blob) break;
      return column.add_text(value.bytes);
  }
  if (value.type != ValueType::null) chunk.add_misfit();
  column.add_nulls(1);
}

}  // namespace gpuprof::columns
