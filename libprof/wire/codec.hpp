// Payloads as values: an Encoder appends them to bytes, a Decoder reads them back and never reads
// past the end. Neither knows what the values mean.
//
// A payload is described once for both directions: a template describe(coder, value) passes the
// members in the order of the wire to all(), as(), list() and values(), which both classes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

  // Numbers, flags and texts.
  template <class... T>
  Encoder& all(const T&... values) {
    const auto one = [this](const auto& value) {
      if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
        text(value);
      } else {
        integer(value);
      }
    };
    (one(values), ...);
    return *this;
  }
  // A value that is a Wire in the payload.
  template <class Wire, class T>
  Encoder& as(const T& value) {
    return integer(static_cast<Wire>(value));
  }
  // A list of which describe(item) describes each item; `most` is the reader's limit.
  template <class List, class Describe>
  Encoder& list(const List& items, std::uint32_t /*most*/, Describe&& describe) {
    integer(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) describe(item);
    return *this;
  }
  // A list of values stored as their bytes.
  template <class T>
  Encoder& values(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    integer(static_cast<std::uint32_t>(values.size()));
    return raw(std::as_bytes(std::span(values)));
  }

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

  // As in Encoder.
  template <class... T>
  Decoder& all(T&... values) {
    const auto one = [this](auto& value) {
      using Value = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::string>) {
        value = text();
      } else if constexpr (std::is_same_v<Value, bool>) {
        value = integer<std::uint8_t>() != 0;
      } else {
        value = integer<Value>();
      }
    };
    (one(values), ...);
    return *this;
  }
  template <class Wire, class T>
  Decoder& as(T& value) {
    value = static_cast<T>(integer<Wire>());
    return *this;
  }
  template <class T, class Describe>
  Decoder& list(std::vector<T>& items, std::uint32_t most, Describe&& describe) {
    const auto count = list_length(1, most);
    for (std::uint32_t i = 0; i < count && ok_; ++i) describe(items.emplace_back());
    return *this;
  }
  template <class T>
  Decoder& values(std::vector<T>& values) {
    const std::size_t count = integer<std::uint32_t>();
    const auto bytes = raw(count * sizeof(T));
    values.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return *this;
  }

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

// A value as describe() gets it: constant for an Encoder, to be filled by a Decoder.
template <class Coder, class T>
using Coded = std::conditional_t<std::is_same_v<Coder, Encoder>, const T, T>;

// Fills `value` from a whole payload, as describe() says; nullopt: malformed.
template <class T>
std::optional<T> decoded(std::span<const std::byte> payload, T value = {}) {
  Decoder decoder(payload);
  describe(decoder, value);
  if (!decoder.ok()) return std::nullopt;
  return value;
}

}  // namespace gpuprof::wire
