#include "libprof/c_api/arrow_column.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <new>
#include <utility>

#include "libprof/base/utf8.hpp"

namespace gpuprof::c_api {
namespace {

// What an array owns: it frees the buffers, and releases and frees children and dictionary.
struct ArrayParts {
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;
};

void release_array(ArrowArray* array) {
  std::unique_ptr<ArrayParts> parts(static_cast<ArrayParts*>(array->private_data));
  for (const void* buffer : parts->buffers) std::free(const_cast<void*>(buffer));
  const auto end = [](ArrowArray* part) {
    if (!part) return;
    if (part->release) part->release(part);
    delete part;
  };
  for (ArrowArray* child : parts->children) end(child);
  end(array->dictionary);
  array->release = nullptr;
}

// Takes ownership of `buffers`; nullptr is an absent buffer.
ArrowArray make_array(std::size_t length, std::size_t nulls, std::vector<const void*> buffers) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = std::move(buffers);
  ArrowArray array{};
  array.length = static_cast<std::int64_t>(length);
  array.null_count = static_cast<std::int64_t>(nulls);
  array.n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  array.buffers = parts->buffers.data();
  array.release = release_array;
  array.private_data = parts.release();
  return array;
}

struct SchemaParts {
  std::string name;
  std::vector<ArrowSchema*> children;
};

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<SchemaParts> parts(static_cast<SchemaParts*>(schema->private_data));
  const auto end = [](ArrowSchema* part) {
    if (!part) return;
    if (part->release) part->release(part);
    delete part;
  };
  for (ArrowSchema* child : parts->children) end(child);
  end(schema->dictionary);
  schema->release = nullptr;
}

ArrowSchema make_schema(const char* format, std::string_view name, std::int64_t flags) {
  auto parts = std::make_unique<SchemaParts>(SchemaParts{.name = valid_utf8(name), .children = {}});
  ArrowSchema schema{};
  schema.format = format;
  schema.name = parts->name.c_str();
  schema.flags = flags;
  schema.release = release_schema;
  schema.private_data = parts.release();
  return schema;
}

const char* format_of(Kind kind) {
  switch (kind) {
    case Kind::int64: return "l";
    case Kind::int32:
    case Kind::text: return "i";  // indices
    case Kind::float64: return "g";
    case Kind::boolean: return "b";
    case Kind::binary: return "Z";
    case Kind::none: return "n";
  }
  return "n";
}

std::size_t width_of(Kind kind) {
  switch (kind) {
    case Kind::int64:
    case Kind::float64: return 8;
    case Kind::int32:
    case Kind::text: return 4;
    case Kind::boolean: return 1;
    case Kind::binary:
    case Kind::none: return 0;
  }
  return 0;
}

char* copied(const void* bytes, std::size_t size) {
  Memory memory;
  char* to = memory.grow(size);
  if (size > 0) std::memcpy(to, bytes, size);
  return memory.release();
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::int64: return "int64";
    case Kind::int32: return "int32";
    case Kind::float64: return "float64";
    case Kind::boolean: return "bool";
    case Kind::text: return "text";
    case Kind::binary: return "binary";
    case Kind::none: return "";
  }
  return "";
}

char* Memory::grow(std::size_t bytes) {
  if (size_ + bytes > capacity_) {
    const std::size_t capacity = std::max({size_ + bytes, 2 * capacity_, std::size_t{256}});
    void* moved = std::realloc(data_.get(), capacity);
    if (!moved) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<char*>(moved));
    capacity_ = capacity;
  }
  return data_.get() + std::exchange(size_, size_ + bytes);
}

char* Memory::release() {
  if (!data_) grow(0);
  if (void* moved = std::realloc(data_.get(), std::max<std::size_t>(size_, 1))) {
    static_cast<void>(data_.release());
    data_.reset(static_cast<char*>(moved));
  }
  size_ = capacity_ = 0;
  return data_.release();
}

std::int32_t Dictionary::number_of(std::string_view value) {
  if (last_ >= 0 && text(last_) == value) return last_;
  const auto found = numbers_.find(value);
  if (found != numbers_.end()) return last_ = found->second;
  if (!is_utf8(value)) {  // several may become the same text
    const std::int32_t number = number_of(valid_utf8(value));
    numbers_.emplace(value, number);
    return number;
  }
  if (texts_.size() >= std::numeric_limits<std::int32_t>::max()) throw std::bad_alloc();
  const auto number = static_cast<std::int32_t>(texts_.size());
  texts_.push_back(&numbers_.emplace(value, number).first->first);
  return last_ = number;
}

ArrowArray Dictionary::finish() {
  Memory offsets, bytes;
  offsets.add<std::int64_t>(0);
  for (const std::string* text : texts_) {
    std::ranges::copy(*text, bytes.grow(text->size()));
    offsets.add(static_cast<std::int64_t>(bytes.size()));
  }
  return make_array(texts_.size(), 0, {nullptr, offsets.release(), bytes.release()});
}

void ArrowColumn::add_valid(std::size_t count) {
  if (!valid_.empty()) {
    for (std::size_t row = size_; row < size_ + count; ++row) {
      if (row / 8 >= valid_.size()) valid_.push_back(0);
      valid_[row / 8] |= static_cast<std::uint8_t>(1U << row % 8);
    }
  }
  size_ += count;
}

void ArrowColumn::set_null(std::size_t row) {
  if (valid_.empty()) {
    valid_.assign((size_ + 7) / 8, 0xff);
    if (size_ % 8 != 0) valid_.back() = static_cast<std::uint8_t>((1U << size_ % 8) - 1);
  }
  valid_[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8));
  ++nulls_;
}

void ArrowColumn::add_null() {
  add_valid(1);
  if (kind_ == Kind::none) return;
  if (kind_ == Kind::binary) ends_.push_back(static_cast<std::int64_t>(values_.size()));
  std::memset(values_.grow(width_of(kind_)), 0, width_of(kind_));
  set_null(size_ - 1);
}

void ArrowColumn::add(const AnyValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return add_integer(*whole);
  if (const auto* real = std::get_if<double>(&value)) return add_real(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return add_text(*text);
  add_null();
}

void ArrowColumn::add_integer(std::int64_t value) {
  switch (kind_) {
    case Kind::int64: *grow<std::int64_t>(1) = value; return;
    case Kind::int32:
      if (value != static_cast<std::int32_t>(value)) break;
      *grow<std::int32_t>(1) = static_cast<std::int32_t>(value);
      return;
    case Kind::float64: *grow<double>(1) = static_cast<double>(value); return;
    case Kind::boolean: *grow<std::uint8_t>(1) = value != 0; return;
    case Kind::text: return add_text(std::to_string(value));
    case Kind::binary:
    case Kind::none: break;
  }
  add_null();
}

void ArrowColumn::add_real(double value) {
  if (kind_ == Kind::float64) {
    *grow<double>(1) = value;
  } else if (kind_ == Kind::text) {
    add_text(text_of(value));
  } else {
    add_null();
  }
}

void ArrowColumn::add_text(std::string_view text) {
  if (kind_ != Kind::text) return add_null();
  *grow<std::int32_t>(1) = dictionary_.number_of(text);
}

void ArrowColumn::add_blob(std::string_view bytes) {
  if (kind_ != Kind::binary) return add_null();
  std::ranges::copy(bytes, values_.grow(bytes.size()));
  ends_.push_back(static_cast<std::int64_t>(values_.size()));
  add_valid(1);
}

ArrowSchema ArrowColumn::schema() const {
  Owned<ArrowSchema> schema(make_schema(format_of(kind_), name_, ARROW_FLAG_NULLABLE));
  if (kind_ == Kind::text) {
    schema.get().dictionary = new ArrowSchema(make_schema("U", "", 0));
  }
  return schema.take();
}

ArrowArray ArrowColumn::finish() {
  if (kind_ == Kind::none) return make_array(size_, size_, {});
  std::vector<const void*> buffers;
  buffers.reserve(3);
  buffers.push_back(nulls_ > 0 ? copied(valid_.data(), valid_.size()) : nullptr);
  if (kind_ == Kind::binary) {
    Memory offsets;
    offsets.add<std::int64_t>(0);
    for (const std::int64_t end : ends_) offsets.add(end);
    buffers.push_back(offsets.release());
  }
  if (kind_ == Kind::boolean) {
    Memory bits;
    char* to = bits.grow((size_ + 7) / 8);
    std::memset(to, 0, (size_ + 7) / 8);
    for (std::size_t row = 0; row < size_; ++row) {
      if (values_.data()[row]) to[row / 8] = static_cast<char>(to[row / 8] | 1 << row % 8);
    }
    values_ = std::move(bits);
  }
  buffers.push_back(values_.release());
  Owned<ArrowArray> array(make_array(size_, nulls_, std::move(buffers)));
  if (kind_ == Kind::text) array.get().dictionary = new ArrowArray(dictionary_.finish());
  return array.take();
}

std::string text_of(double value) {
  std::array<char, 40> text{};
  return {text.data(), std::to_chars(text.begin(), text.end(), value).ptr};
}

ArrowArray rows_of(std::vector<ArrowColumn>& columns) {
  const std::size_t length = columns.empty() ? 0 : columns.front().size();
  Owned<ArrowArray> rows(make_array(length, 0, {nullptr}));
  auto& children = static_cast<ArrayParts*>(rows.get().private_data)->children;
  children.reserve(columns.size());
  for (ArrowColumn& column : columns) {
    Owned<ArrowArray> array(column.finish());
    children.push_back(new ArrowArray(array.get()));
    array.take();
  }
  rows.get().n_children = static_cast<std::int64_t>(children.size());
  rows.get().children = children.data();
  return rows.take();
}

ArrowSchema schema_of(const std::vector<ArrowColumn>& columns) {
  Owned<ArrowSchema> rows(make_schema("+s", "", 0));
  auto& children = static_cast<SchemaParts*>(rows.get().private_data)->children;
  children.reserve(columns.size());
  for (const ArrowColumn& column : columns) {
    Owned<ArrowSchema> schema(column.schema());
    children.push_back(new ArrowSchema(schema.get()));
    schema.take();
  }
  rows.get().n_children = static_cast<std::int64_t>(children.size());
  rows.get().children = children.data();
  return rows.take();
}

}  // namespace gpuprof::c_api
