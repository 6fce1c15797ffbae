#include "libprof/wire/codec.hpp"

#include <algorithm>
#include <charconv>

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {

std::int64_t Fields::integer(std::string_view name, std::int64_t fallback) const {
  const auto value = find(name);
  if (!value) return fallback;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  return error == std::errc{} && end == value->data() + value->size() ? number : fallback;
}

Encoder& Encoder::text(std::string_view text) {
  integer(static_cast<std::uint32_t>(text.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  return *this;
}

std::vector<std::uint32_t> Fields::numbers(std::string_view name) const {
  const std::string_view value = text(name);
  std::vector<std::uint32_t> numbers;
  const char* at = value.data();
  const char* const end = at + value.size();
  while (at < end) {
    std::uint32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc{}) numbers.push_back(number);
    at = std::max(next, at + 1);
  }
  return numbers;
}

Encoder& Encoder::raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Encoder& Encoder::fields(const Fields& fields) {
  integer(static_cast<std::uint32_t>(fields.size()));
  for (const auto& [name, value] : fields) text(name).text(value);
  return *this;
}

std::span<const std::byte> Decoder::raw(std::size_t count) {
  if (count > bytes_.size()) {
    fail();
    return {};
  }
  const auto taken = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return taken;
}

void Decoder::fail() {
  ok_ = false;
  bytes_ = {};
}

std::uint32_t Decoder::list_length(std::size_t item_size, std::uint32_t most) {
  const auto count = integer<std::uint32_t>();
  if (count <= most && count <= remaining() / item_size) return count;
  fail();
  return 0;
}

std::string_view Decoder::text() {
  const auto length = integer<std::uint32_t>();
  const auto bytes = raw(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Fields Decoder::fields() {
  Fields fields;
  const auto count = list_length(2 * sizeof(std::uint32_t), max_fields);
  for (std::uint32_t i = 0; i < count && ok_; ++i) {
    const auto name = text();
    const auto value = text();
    if (ok_) fields.set(name, value);
  }
  return fields;
}

}  // namespace gpuprof::wire
