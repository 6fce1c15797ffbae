// One value of a row on its way into a column. Both paths of a reader use it, so that they treat
// values of the wrong type alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

struct Value {
  store::ValueType type = store::ValueType::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view bytes = {};  // of a text or blob
};

// Appends a value to the chunk's column with this index. Values that do not fit become NULL and
// count as misfits, as do values that are converted:
//
//   int64                      integers
//   int32, name, enumeration   32-bit signed integers
//   boolean                    integers; 2 and others become true
//   float64                    numbers
//   text                       texts; integers become decimal texts
//   blob                       blobs
void add_value(Chunk& chunk, std::size_t column, const Value& value);

}  // namespace gpuprof::columns
