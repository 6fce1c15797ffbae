#include "libprof/report/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace gpuprof::report {
namespace {

double power_of_ten(int exponent) {
  double power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// Independent of the locale.
std::string printed(double value, std::chars_format notation, int decimals) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, notation, decimals);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

}  // namespace

std::string format_number(double value, std::string_view unit, NumberFormat format) {
  const int room = format.width - static_cast<int>(unit.size());
  std::string text;
  if (value >= format.exponent_from) {
    text = printed(value, std::chars_format::scientific, std::max(room - 6, 0));
  } else {
    int digits = 1;  // before the point
    while (value >= power_of_ten(digits)) ++digits;
    int decimals = std::max(room - 1 - digits, 0);
    const double scaled = std::floor(value * power_of_ten(decimals) + 0.5);
    const double rounded = scaled / power_of_ten(decimals);
    // 99.9999 has become 100.000: one character too many.
    if (rounded >= power_of_ten(digits)) decimals = std::max(decimals - 1, 0);
    text = printed(rounded, std::chars_format::fixed, decimals);
  }
  return text.append(unit);
}

std::string format_time(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return std::to_string(nanoseconds) + "ns";
  // One multiplication and not a division: its last bit decides how ties are rounded.
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000'000) return format_number(value * 1e-3, "us", time_format);
  if (nanoseconds < 1'000'000'000) return format_number(value * 1e-6, "ms", time_format);
  return format_number(value * 1e-9, "s", time_format);
}

std::string format_size(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + "B";
  constexpr std::array<std::string_view, 3> units{"KB", "MB", "GB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1024;
  return format_number(value, units[unit], size_format);
}

std::string format_percent(double percent) {
  return printed(percent, std::chars_format::fixed, 2) + "%";
}

}  // namespace gpuprof::report
