// Growing columns in Arrow's memory layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "libprof/c_api/gpuprof.h"

namespace gpuprof::c_api {

enum class Kind : std::uint8_t {
  int64,
  int32,
  float64,
  boolean,
  text,  // dictionary-encoded
  binary,
  none,  // all NULL: of unknown type
};

// The name used in gpuprof.h: "int64".
std::string_view name_of(Kind kind);

// malloc()ed memory that grows by realloc(), which moves pages of large blocks instead of copying
// bytes.
class Memory {
 public:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };

  // Appends uninitialized room for that many bytes. Throws std::bad_alloc.
  char* grow(std::size_t bytes);
  std::size_t size() const { return size_; }
  char* data() { return data_.get(); }
  template <class T>
  void add(T value) {
    *reinterpret_cast<T*>(grow(sizeof value)) = value;
  }
  // Releases ownership of the bytes and trims unused room; never nullptr.
  char* release();

 private:
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

// Distinct texts, numbered in order of first use.
class Dictionary {
 public:
  std::int32_t number_of(std::string_view text);
  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::int32_t number) const {
    return *texts_[static_cast<std::size_t>(number)];
  }
  // As large utf8. Bytes that are not UTF-8 became U+FFFD.
  ArrowArray finish();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  // keys of numbers_
  std::int32_t last_ = -1;                 // most texts repeat the one before
};

using AnyValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// Indices of rows; nullopt: all rows.
using ChosenRows = std::optional<std::vector<std::size_t>>;

template <class Visit>
void for_each_row(std::size_t rows, const ChosenRows& chosen, const Visit& visit) {
  if (chosen) {
    for (const std::size_t row : *chosen) visit(row);
  } else {
    for (std::size_t row = 0; row < rows; ++row) visit(row);
  }
}

// One column. Values are appended in order; finish() ends it.
class ArrowColumn {
 public:
  ArrowColumn(std::string name, Kind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const { return name_; }
  Kind kind() const { return kind_; }
  std::size_t size() const { return size_; }
  Dictionary& dictionary() { return dictionary_; }

  // Appends room for non-NULL values of a fixed width: int64, int32 and text indices (4 bytes),
  // float64, boolean (one byte each).
  template <class T>
  T* grow(std::size_t count) {
    add_valid(count);
    return reinterpret_cast<T*>(values_.grow(count * sizeof(T)));
  }
  void set_null(std::size_t row);  // a row appended with grow()
  void add_null();
  // Appends values of the column's fixed width.
  template <class T, class IsNull>
  void add_all(std::span<const T> values, const ChosenRows& chosen, bool any_null,
               const IsNull& is_null) {
    std::size_t at = size_;
    T* to = grow<T>(chosen ? chosen->size() : values.size());
    if (!chosen && !values.empty()) std::memcpy(to, values.data(), values.size_bytes());
    if (chosen) {
      for (const std::size_t row : *chosen) *to++ = values[row];
    }
    if (!any_null) return;
    for_each_row(values.size(), chosen, [&](std::size_t row) {
      if (is_null(row)) set_null(at);
      ++at;
    });
  }
  // Appends texts: index_of(row) is an index of the dictionary, or -1 for NULL.
  template <class IndexOf>
  void add_indices(std::size_t rows, const ChosenRows& chosen, const IndexOf& index_of) {
    std::size_t at = size_;
    auto* to = grow<std::int32_t>(chosen ? chosen->size() : rows);
    for_each_row(rows, chosen, [&](std::size_t row) {
      const std::int32_t index = index_of(row);
      *to++ = index < 0 ? 0 : index;
      if (index < 0) set_null(at);
      ++at;
    });
  }

  // Appends one value of any kind; NULL if it does not fit the column.
  void add(const AnyValue& value);
  void add_integer(std::int64_t value);
  void add_real(double value);
  void add_text(std::string_view text);
  void add_blob(std::string_view bytes);

  ArrowSchema schema() const;
  ArrowArray finish();

 private:
  void add_valid(std::size_t count);

  std::string name_;
  Kind kind_;
  std::size_t size_ = 0, nulls_ = 0;
  Memory values_;                    // binary: the bytes
  std::vector<std::int64_t> ends_;   // binary: where each value ends
  std::vector<std::uint8_t> valid_;  // one bit per row; empty: no NULL
  Dictionary dictionary_;
};

// A real number as text: the shortest form that SQLite reads back as the same value.
std::string text_of(double value);

// The columns' rows as one array, and their schema. rows_of() consumes the columns.
ArrowArray rows_of(std::vector<ArrowColumn>& columns);
ArrowSchema schema_of(const std::vector<ArrowColumn>& columns);

// Owns an Arrow array, schema or stream: calls its release function.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T value) : value_(value) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept : value_(other.take()) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = other.take();
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  T take() {
    T value = value_;
    value_ = T{};
    return value;
  }
  T& get() { return value_; }

 private:
  void reset() {
    if (value_.release) value_.release(&value_);
    value_ = T{};
  }
  T value_{};
};

}  // namespace gpuprof::c_api
