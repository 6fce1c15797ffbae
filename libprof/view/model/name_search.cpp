#include "libprof/view/model/name_search.hpp"

#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::view {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<bool> matching_names(const std::vector<Name>& names, const Pattern& pattern,
                                 SteadyClock::time_point until) {
  std::vector<bool> matches;
  for (const Name& name : names) {
    matches.push_back(pattern.found_in(name.text));
    if (pattern.gave_up() == 0 && SteadyClock::now() < until) continue;
    throw Error("the expression takes too long: after " + std::to_string(matches.size()) + " of " +
                    std::to_string(names.size()) + " names it was given up",
                "", ExitCode::bad_option);
  }
  return matches;
}

}  // namespace

std::vector<bool> names_with(const std::vector<Name>& names, std::string_view wanted,
                             std::chrono::milliseconds most) {
  const bool any_case = wanted.ends_with("/i");
  const std::string_view whole = any_case ? wanted.substr(0, wanted.size() - 1) : wanted;
  if (whole.size() > 2 && whole.front() == '/' && whole.back() == '/') {
    const Pattern pattern(std::string(whole.substr(1, whole.size() - 2)), any_case);
    return matching_names(names, pattern, SteadyClock::now() + most);
  }
  const std::string text = lower(wanted);
  std::vector<bool> matches;
  for (const Name& name : names) {
    matches.push_back(lower(name.text).find(text) != std::string::npos);
  }
  return matches;
}

}  // namespace gpuprof::view
