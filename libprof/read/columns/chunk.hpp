// Rows of a table as columns: what a reader returns, piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/read/columns/table_info.hpp"

namespace gpuprof::columns {

// An array that keeps its memory when cleared. New elements are uninitialized.
template <class T>
class Buffer {
 public:
  std::size_t size() const { return size_; }
  const T* data() const { return values_.get(); }
  T* data() { return values_.get(); }
  void clear() { size_ = 0; }
  // Appends `count` elements and returns a pointer to the first of them.
  T* grow(std::size_t count) {
    if (size_ + count > capacity_) {
      const std::size_t capacity = std::max(size_ + count, 2 * capacity_);
      auto values = std::make_unique_for_overwrite<T[]>(capacity);
      if (size_ > 0) std::memcpy(values.get(), values_.get(), size_ * sizeof(T));
      values_ = std::move(values);
      capacity_ = capacity;
    }
    return values_.get() + std::exchange(size_, size_ + count);
  }

 private:
  std::unique_ptr<T[]> values_;
  std::size_t size_ = 0, capacity_ = 0;
};

// The values of one column. For NULL, numbers are 0 and texts are empty.
class Column {
 public:
  explicit Column(Type type) : type_(type) {}

  Type type() const { return type_; }
  std::size_t size() const { return size_; }
  std::size_t nulls() const { return nulls_; }
  bool is_null(std::size_t row) const {
    return nulls_ > 0 && row / 64 < validity_.size() && !(validity_[row / 64] >> row % 64 & 1);
  }
  // One bit per row, starting at the lowest bit of each word: 1 = not NULL. Rows past the last word
  // are not NULL; without any NULL there are no words.
  std::span<const std::uint64_t> validity() const { return validity_; }

  // Each is valid for its types and empty for others.
  std::span<const std::int64_t> int64s() const { return {int64s_.data(), int64s_.size()}; }
  std::span<const std::int32_t> int32s() const {  // int32, name, enumeration
    return {int32s_.data(), int32s_.size()};
  }
  std::span<const double> doubles() const { return {doubles_.data(), doubles_.size()}; }
  std::span<const std::uint8_t> booleans() const {  // 0 or 1
    return {booleans_.data(), booleans_.size()};
  }
  std::string_view text(std::size_t row) const {  // text and blob
    const std::size_t begin = row == 0 ? 0 : ends_.data()[row - 1];
    return {bytes_.data() + begin, ends_.data()[row] - begin};
  }

  // For readers: appending values. `grow…` appends `count` values to be written by the caller;
  // set_null() marks one of them, which must already be 0, as NULL.
  std::int64_t* grow_int64s(std::size_t count) { return grow(int64s_, count); }
  std::int32_t* grow_int32s(std::size_t count) { return grow(int32s_, count); }
  double* grow_doubles(std::size_t count) { return grow(doubles_, count); }
  std::uint8_t* grow_booleans(std::size_t count) { return grow(booleans_, count); }
  void add_text(std::string_view text);
  void add_nulls(std::size_t count);
  void set_null(std::size_t row);
  void clear();

 private:
  template <class T>
  T* grow(Buffer<T>& buffer, std::size_t count) {
    size_ += count;
    return buffer.grow(count);
  }

  Type type_;
  std::size_t size_ = 0;
  std::size_t nulls_ = 0;
  std::vector<std::uint64_t> validity_;
  Buffer<std::int64_t> int64s_;
  Buffer<std::int32_t> int32s_;
  Buffer<double> doubles_;
  Buffer<std::uint8_t> booleans_;
  Buffer<std::uint64_t> ends_;  // in bytes_
  Buffer<char> bytes_;
};

// The value of an integer column.
inline std::int64_t whole(const Column& column, std::size_t row) {
  if (column.type() == Type::int64) return column.int64s()[row];
  if (column.type() == Type::boolean) return column.booleans()[row];
  return column.int32s()[row];
}

// Some rows, in id order.
class Chunk {
 public:
  Chunk() = default;
  explicit Chunk(std::vector<Column> columns) : columns_(std::move(columns)) {}

  std::size_t rows() const { return rows_; }
  // Indexed like Request::columns.
  const Column& operator[](std::size_t index) const { return columns_[index]; }
  // Number of values that the columns do not have as they are. Those that do not fit, such as a
  // text instead of a number, or a number that is too large, read as NULL; for others see
  // value.hpp.
  std::size_t misfits() const { return misfits_; }

  // For readers.
  Column& column(std::size_t index) { return columns_[index]; }
  std::size_t column_count() const { return columns_.size(); }
  void add_rows(std::size_t count) { rows_ += count; }
  void add_misfit() { ++misfits_; }
  void clear();

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
  std::size_t misfits_ = 0;
};

}  // namespace gpuprof::columns
