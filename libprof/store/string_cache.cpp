#include "libprof/store/string_cache.hpp"

#include <utility>

namespace gpuprof::store {

// Includes a rough estimate of what the hash table and the allocator need per entry.
std::size_t StringCache::cost_of(std::string_view text) { return text.size() + 100; }

std::optional<std::int64_t> StringCache::find(std::string_view text) {
  if (const auto known = young_.find(text); known != young_.end()) return known->second;
  const auto known = old_.find(text);
  if (known == old_.end()) return std::nullopt;
  const std::int64_t id = known->second;
  auto entry = old_.extract(known);
  make_room(cost_of(text));
  young_.insert(std::move(entry));
  return id;
}

void StringCache::add(std::string_view text, std::int64_t id) {
  const std::size_t cost = cost_of(text);
  if (cost > generation_bytes_ / 16) {
    forgets_ = true;
    return;
  }
  make_room(cost);
  young_.emplace(text, id);
}

void StringCache::make_room(std::size_t cost) {
  if (young_bytes_ + cost > generation_bytes_) {
    forgets_ |= !old_.empty();
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
  }
  young_bytes_ += cost;
}

}  // namespace gpuprof::store
