// One value of a row on its way into a column. Both paths of a reader take it here, so that they
// treat alike what is not of the column's type.
#pragma once

#include <cstdint>
#include <string_view>

#include "libprof/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

struct Value {
  store::ValueType type = store::ValueType::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view bytes = {};  // of a text or blob
};

// At the end of the chunk's column of this number. What the column does not take becomes NULL, and
// is counted as a misfit:
//
//   int64                      whole numbers
//   int32, name, enumeration   whole numbers of 32 bits with a sign
//   boolean                    whole numbers; all but 0 are true
//   float64                    numbers
//   text                       texts, and whole numbers as they are written
//   blob                       blobs
void add_value(Chunk& chunk, std::size_t column, const Value& value);

}  // namespace gpuprof::columns
