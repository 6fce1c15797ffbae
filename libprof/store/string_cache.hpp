// Texts that already have a row in StringTable.
//
// A run that lasts for days can have a new NVTX message per request, so not all texts are
// remembered: the cache has two generations with half the budget each, and when the younger one is
// full, the older one is dropped. Looking up a text moves it to the younger one, so kernel names,
// which collectors send again and again, stay. Belongs to the loader's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpuprof::store {

class StringCache {
 public:
  // 300,000 messages of 100 bytes in each generation.
  static constexpr std::size_t default_budget = std::size_t{128} << 20;

  explicit StringCache(std::size_t budget = default_budget) : generation_bytes_(budget / 2) {}

  std::optional<std::int64_t> find(std::string_view text);
  // Adds a text that find() does not have. Texts that would displace thousands of others are not
  // remembered.
  void add(std::string_view text, std::int64_t id);
  // Whether some added text is not remembered.
  bool forgets() const { return forgets_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Generation = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;

  static std::size_t cost_of(std::string_view text);
  void make_room(std::size_t cost);

  std::size_t generation_bytes_;
  Generation young_, old_;
  std::size_t young_bytes_ = 0;
  bool forgets_ = false;
};

}  // namespace gpuprof::store
