#include <catch2/catch.hpp>
#include <cstring>
#include <string_view>

#include "libprof/wire/batch_parts.hpp"
#include "libprof/wire/format.hpp"

using gpuprof::wire::BatchPartHeader;
using gpuprof::wire::BatchParts;
using Added = BatchParts::Added;

namespace {

constexpr std::size_t room = 100;

std::vector<std::byte> part(BatchPartHeader header, std::string_view text) {
  std::vector<std::byte> bytes(sizeof header + text.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, text.data(), text.size());
  return bytes;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("parts of a batch are joined in order") {
  BatchParts parts;
  CHECK(parts.add(part({0, 3}, "ab"), room) == Added::more);
  CHECK(parts.add(part({1, 3}, ""), room) == Added::more);
  CHECK(parts.held() == 2);
  CHECK(parts.add(part({2, 3}, "c"), room) == Added::whole);
  CHECK(text_of(parts.take()) == "abc");
  CHECK(parts.add(part({0, 1}, "d"), room) == Added::whole);
  CHECK(text_of(parts.take()) == "d");
}

TEST_CASE("parts that make no sense are thrown away") {
  BatchParts parts;
  CHECK(parts.add({}, room) == Added::malformed);
  CHECK(parts.add(part({0, 0}, "a"), room) == Added::malformed);
  CHECK(parts.add(part({1, 2}, "a"), room) == Added::malformed);
  CHECK(parts.add(part({0, 3}, "a"), room) == Added::more);
  CHECK(parts.add(part({1, 2}, "a"), room) == Added::malformed);  // of another batch
  CHECK(parts.held() == 0);
  CHECK(parts.add(part({0, 2}, std::string(60, 'a')), room) == Added::more);
  CHECK(parts.add(part({1, 2}, std::string(41, 'a')), room) == Added::too_long);
  CHECK(parts.held() == 0);
  CHECK(parts.add(part({0, 1}, "b"), room) == Added::whole);
  CHECK(text_of(parts.take()) == "b");
}
