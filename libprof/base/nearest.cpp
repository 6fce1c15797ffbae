#include "libprof/base/nearest.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names,
                                 std::size_t most) {
  const std::size_t farthest = std::max<std::size_t>(2, wrong.size() / 4);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance <= farthest) found.emplace_back(distance, name);
  }
  if (found.empty()) {
    for (const std::string& name : names) {
      if (wrong.size() > 2 && name.find(wrong) != name.npos) found.emplace_back(name.size(), name);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> result;
  for (auto& [distance, name] : found) {
    if (result.size() == most) break;
    if (result.empty() || result.back() != name) result.push_back(std::move(name));
  }
  return result;
}

}  // namespace gpuprof
