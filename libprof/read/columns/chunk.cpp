#include "libprof/read/columns/chunk.hpp"

namespace gpuprof::columns {

void Column::add_text(std::string_view text) {
  if (!text.empty()) std::memcpy(bytes_.grow(text.size()), text.data(), text.size());
  *grow(ends_, 1) = bytes_.size();
}

void Column::add_nulls(std::size_t count) {
  const std::size_t first = size_;
  switch (type_) {
    case Type::int64: std::fill_n(grow_int64s(count), count, 0); break;
    case Type::int32:
    case Type::name:
    case Type::enumeration: std::fill_n(grow_int32s(count), count, 0); break;
    case Type::float64: std::fill_n(grow_doubles(count), count, 0); break;
    case Type::boolean: std::fill_n(grow_booleans(count), count, 0); break;
    case Type::text:
    case Type::blob: std::fill_n(grow(ends_, count), count, bytes_.size()); break;
  }
  for (std::size_t row = first; row < size_; ++row) set_null(row);
}

void Column::set_null(std::size_t row) {
  if (row / 64 >= validity_.size()) validity_.resize(row / 64 + 1, ~std::uint64_t{0});
  validity_[row / 64] &= ~(std::uint64_t{1} << row % 64);
  ++nulls_;
}

void Column::clear() {
  size_ = nulls_ = 0;
  validity_.clear();
  int64s_.clear();
  int32s_.clear();
  doubles_.clear();
  booleans_.clear();
  ends_.clear();
  bytes_.clear();
}

void Chunk::clear() {
  for (Column& column : columns_) column.clear();
  rows_ = misfits_ = 0;
}

}  // namespace gpuprof::columns
