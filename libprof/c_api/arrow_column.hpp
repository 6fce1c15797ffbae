// Columns in Arrow's memory layout, while they grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
  none,  // all NULL: nobody knows of what type
};

// What gpuprof.h calls it: "int64".
std::string_view name_of(Kind kind);

// malloc()ed memory, which grows by realloc(): for large blocks that moves pages in place of bytes.
class Memory {
 public:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };

  // Room for so many bytes more, not set to anything. Throws std::bad_alloc.
  char* grow(std::size_t bytes);
  std::size_t size() const { return size_; }
  char* data() { return data_.get(); }
  template <class T>
  void add(T value) {
    *reinterpret_cast<T*>(grow(sizeof value)) = value;
  }
  // The bytes and what room is left over go; never nullptr.
  char* release();

 private:
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

// Texts by number, each once.
class Dictionary {
 public:
  std::int32_t number_of(std::string_view text);
  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::int32_t number) const {
    return *texts_[static_cast<std::size_t>(number)];
  }
  // Large utf8; bytes that are no UTF-8 are U+FFFD.
  ArrowArray finish();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  // of numbers_
  std::int32_t last_ = -1;                 // most texts are as the one before
};

// One column. What is added stays in order; finish() ends it.
class ArrowColumn {
 public:
  ArrowColumn(std::string name, Kind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const { return name_; }
  Kind kind() const { return kind_; }
  std::size_t size() const { return size_; }
  Dictionary& dictionary() { return dictionary_; }

  // Room for values of a fixed width that all are there: int64, int32 and indices of text (4
  // bytes), float64, boolean (a byte each).
  template <class T>
  T* grow(std::size_t count) {
    add_valid(count);
    return reinterpret_cast<T*>(values_.grow(count * sizeof(T)));
  }
  void set_null(std::size_t row);  // of what was grown
  void add_null();

  // Values of any kind, one at a time. One that this column does not take is NULL.
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
  std::vector<std::int64_t> ends_;   // of binary
  std::vector<std::uint8_t> valid_;  // a bit each; empty: there is no NULL
  Dictionary dictionary_;
};

// A real number as text, as SQLite would be understood again: shortest form.
std::string text_of(double value);

// Rows of several columns as one array, and its schema. The columns are used up.
ArrowArray rows_of(std::vector<ArrowColumn>& columns);
ArrowSchema schema_of(const std::vector<ArrowColumn>& columns);

// Arrays and schemas by their own rule: whoever has one calls release.
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
