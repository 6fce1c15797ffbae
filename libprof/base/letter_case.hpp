// Case-insensitive names, as SQLite compares them: ASCII letters only.
#pragma once

#include <algorithm>
#include <string_view>

namespace gpuprof {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char c) { return lower(c); }, [](char c) { return lower(c); });
}

constexpr bool name_starts_with(std::string_view name, std::string_view beginning) {
  return same_name(name.substr(0, beginning.size()), beginning);
}

// The element with that name, or null.
template <class Elements>
auto* find_named(Elements& elements, std::string_view name) {
  const auto found =
      std::ranges::find_if(elements, [&](const auto& each) { return same_name(each.name, name); });
  return found == std::ranges::end(elements) ? nullptr : &*found;
}

// Comparator for std::set and std::map.
struct NameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(
        a, b, {}, [](char c) { return lower(c); }, [](char c) { return lower(c); });
  }
};

}  // namespace gpuprof
