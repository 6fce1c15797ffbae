#include "libprof/conclude/findings/rule.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace gpuprof::findings {

#define GPUPROF_RULE(name) extern const Rule name;
#include "libprof/conclude/findings/all_rules.inc"
#undef GPUPROF_RULE

std::string_view name_of(Confidence confidence) {
  constexpr std::array<std::string_view, 3> names{"low", "medium", "high"};
  return names[static_cast<std::size_t>(confidence)];
}

std::span<const Rule* const> rules() {
  static const auto all = [] {
#define GPUPROF_RULE(name) &name,
    std::array found{
#include "libprof/conclude/findings/all_rules.inc"
    };
#undef GPUPROF_RULE
    std::ranges::sort(found, std::less{}, &Rule::order);
    return found;
  }();
  return all;
}

const Rule* find_rule(std::string_view id) {
  const auto found = std::ranges::find(rules(), id, &Rule::id);
  return found == rules().end() ? nullptr : *found;
}

}  // namespace gpuprof::findings
