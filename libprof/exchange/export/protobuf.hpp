// Protocol buffer messages, written field by field.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::exporting {

class Message {
 public:
  Message() = default;
  // `room`: the approximate size in bytes.
  explicit Message(std::size_t room) { bytes_.reserve(room); }

  Message& number(std::uint32_t field, std::int64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    return fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  Message& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  // Writes only what precedes the bytes of a nested message.
  Message& head(std::uint32_t field, const Message& value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.bytes_.size());
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.bytes_); }
  // Adds the fields of another message to this one.
  Message& append(const Message& fields) {
    bytes_ += fields.bytes_;
    return *this;
  }

  std::string_view bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    std::array<char, 10> encoded{};
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) encoded[size++] = static_cast<char>((value & 0x7f) | 0x80);
    encoded[size++] = static_cast<char>(value);
    bytes_.append(encoded.data(), size);
  }

  std::string bytes_;
};

}  // namespace gpuprof::exporting
