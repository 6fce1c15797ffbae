#include "libprof/exchange/import/tally.hpp"

#include "libprof/base/printable.hpp"

namespace gpuprof::importing {

void Tally::add(std::string_view what, std::uint64_t count) {
  constexpr std::size_t most_names = 32, longest = 64;
  if (count == 0) return;
  total_ += count;
  what = what.substr(0, longest);
  auto place = counts_.find(what);
  if (place == counts_.end()) {
    place = counts_.try_emplace(std::string(counts_.size() < most_names ? what : "others")).first;
  }
  place->second += count;
}

std::string Tally::text() const {
  std::string text;
  for (const auto& [what, count] : counts_) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " +
            (what.empty() ? "no kind" : printable(what));
  }
  return text;
}

}  // namespace gpuprof::importing
