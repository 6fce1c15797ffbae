// Payloads as values: an Encoder appends them to bytes, a Decoder reads them back and never reads
// past the end. Neither knows what the values mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

// Pairs of name and value, both text; used for everything on the wire that is not a row. Order is
// kept.
class Fields {
 public:
  void set(std::string_view name, std::string_view value) {
    fields_.emplace_back(std::string(name), std::string(value));
  }
  void set(std::string_view name, std::int64_t value) { set(name, std::to_string(value)); }

  std::optional<std::string_view> find(std::string_view name) const {
    for (const auto& [key, value] : fields_) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  std::string_view text(std::string_view name) const { return find(name).value_or(""); }
  // `fallback` is also returned when the text is not a number.
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  // The numbers in a text, whatever separates them: "1,2,10" -> 1, 2, 10.
  std::vector<std::uint32_t> numbers(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

class Encoder {
 public:
  template <class T>
  Encoder& integer(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    save(bytes_.data() + at, value);
    return *this;
  }
  Encoder& text(std::string_view text);
  Encoder& raw(std::span<const std::byte> bytes);  // appended unchanged
  Encoder& fields(const Fields& fields);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// After the first read past the end, every further read returns zeros and `ok()` is false.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T integer() {
    const auto taken = raw(sizeof(T));
    return taken.empty() ? T{} : load<T>(taken.data());
  }
  std::string_view text();
  Fields fields();
  std::span<const std::byte> raw(std::size_t count);  // empty if fewer than `count` remain

  // The length of a list whose items are at least `item_size` bytes each. Fails if the list is
  // longer than the payload or than `most`.
  std::uint32_t list_length(std::size_t item_size, std::uint32_t most);

  void fail();  // call when the data makes no sense
  bool ok() const { return ok_; }
  std::size_t remaining() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace gpuprof::wire
