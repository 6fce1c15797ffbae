#include "apps/gpuprof/option/setters.hpp"

#include <unistd.h>

#include <climits>

#include "apps/gpuprof/option/given_names.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/pattern.hpp"

namespace gpuprof::app {

Set text(std::string& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) {
    target(options) = value;
    return std::optional<Refusal>();
  };
}

Set flag(void (*set)(Options&)) {
  return [=](Options& options, const std::string&) {
    set(options);
    return std::optional<Refusal>();
  };
}

Set equals(std::string_view word, bool& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) {
    target(options) = value == word;
    return std::optional<Refusal>();
  };
}

Set number(int least, int most, int& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    const auto number = parse<int>(value);
    if (!number || *number < least || *number > most) {
      std::string range = "a whole number from " + std::to_string(least);
      range += most == INT_MAX ? " on" : " to " + std::to_string(most);
      return Refusal{.takes = range};
    }
    if (target) target(options) = *number;
    return {};
  };
}

Set placeholders(std::string& (*target)(Options&), bool with_id) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    try {
      with_id ? object_name(value, 1, getpid()) : expand_name(value, getpid());
    } catch (const Error& error) {
      const std::string what = error.what();
      if (error.exit_code() == ExitCode::internal) {
        throw NvprofError{{"Error: " + what, "Error: internal error."}, ExitCode::internal};
      }
      return Refusal{.before = what.starts_with("invalid syntax") ? "Error: " + what : "",
                     .takes = error.hint()};
    }
    target(options) = value;
    return {};
  };
}

Set file_name(std::string& (*target)(Options&)) { return placeholders(target, false); }

std::optional<Refusal> wrong_expression(const std::string& value) {
  try {
    const Pattern check(value);
  } catch (const Error& error) {
    return Refusal{.takes = std::string("a regular expression: ") + error.what()};
  }
  return {};
}

}  // namespace gpuprof::app
