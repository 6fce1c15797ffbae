#include "apps/gpuprof/option/setters.hpp"

#include <unistd.h>

#include <climits>
#include <cmath>
#include <utility>

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

std::optional<std::chrono::milliseconds> time_of(std::string_view text) {
  double factor = 1000;
  for (const auto& [unit, ms] : {std::pair{"ms", 1.0}, {"min", 60'000.0}, {"s", 1000.0}}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(std::string_view(unit).size());
    factor = ms;
    break;
  }
  const auto value = parse<double>(text);
  if (!value || !(*value > 0 && *value * factor <= 1e10)) return std::nullopt;
  return std::chrono::milliseconds(std::llround(*value * factor));
}

std::optional<std::int64_t> hang_time(std::string_view text) {
  if (text == "0") return 0;
  const auto time = time_of(text);
  if (!time) return std::nullopt;
  return std::chrono::nanoseconds(*time).count();
}

std::optional<std::uint64_t> size_of(std::string_view text) {
  constexpr double least = 1e6, most = 1e15;
  double factor = 1;
  for (const auto& [unit, bytes] : {std::pair{"KB", 1e3},
                                    {"MB", 1e6},
                                    {"GB", 1e9},
                                    {"TB", 1e12},
                                    {"KiB", 0x1p10},
                                    {"MiB", 0x1p20},
                                    {"GiB", 0x1p30}}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(std::string_view(unit).size());
    factor = bytes;
    break;
  }
  const auto value = parse<double>(text);
  if (!value || !(*value * factor >= least && *value * factor <= most)) return std::nullopt;
  return static_cast<std::uint64_t>(*value * factor);
}

Set time(std::optional<std::chrono::milliseconds>& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    const auto given = time_of(value);
    if (!given) return Refusal{.takes = a_time};
    target(options) = given;
    return {};
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
