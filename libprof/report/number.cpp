#include "libprof/report/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace gpuprof::report {
namespace {

double power_of_ten(int exponent) {
  double power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// Independent of the locale.
std::string printed(double value, std::chars_format notation, int decimals) {
  if (std::isnan(value)) return "nan";  // its sign means nothing
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, notation, decimals);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

// What is added before truncating. When rounding down it is `slack`, which covers the error of a
// double that represents a decimal number and is less than a nanosecond.
double rounding(bool down, double slack) { return down ? slack : 0.5; }

// With an exponent. The mantissa is rounded half up as a separate double. Only for finite values
// above 0: scaling others would never end.
std::string scientific(double value, int decimals, bool down = false) {
  if (!(value > 0) || std::isinf(value)) {
    return printed(value, std::chars_format::scientific, decimals);
  }
  double mantissa = value, power = 1;
  while (mantissa >= 10) mantissa /= 10, power *= 10;
  while (mantissa < 1) mantissa *= 10, power /= 10;
  const double unit = power_of_ten(decimals);
  return printed(std::floor(mantissa * unit + rounding(down, 1e-12)) / unit * power,
                 std::chars_format::scientific, decimals);
}

// As many digits as fit into `room` characters; the point stays even if no digit follows.
std::string filled(double value, int room, int most_decimals, bool down) {
  if (!std::isfinite(value)) return printed(value, std::chars_format::fixed, 0);
  int digits = 1;  // before the point
  while (value >= power_of_ten(digits)) ++digits;
  int decimals = std::clamp(room - 1 - digits, 0, most_decimals);
  const double scaled = std::floor(value * power_of_ten(decimals) + rounding(down, 1e-9));
  const double rounded = scaled / power_of_ten(decimals);
  // 99.9999 became 100.000, which is one character too long.
  if (rounded >= power_of_ten(digits)) decimals = std::max(decimals - 1, 0);
  std::string text = printed(rounded, std::chars_format::fixed, decimals);
  if (decimals == 0 && text.size() < static_cast<std::size_t>(std::max(room, 0))) text += '.';
  return text;
}

// Multiplied rather than divided: the last bit decides how ties are rounded.
constexpr std::array<Scale, 4> times{{{1, "ns"}, {1e-3, "us"}, {1e-6, "ms"}, {1e-9, "s"}}};
constexpr double kib = 1.0 / 1024;
constexpr std::array<Scale, 4> sizes{
    {{1, "B"}, {kib, "KB"}, {kib * kib, "MB"}, {kib * kib * kib, "GB"}}};
constexpr std::array<Scale, 4> speeds{
    {{1, "B/s"}, {kib, "KB/s"}, {kib * kib, "MB/s"}, {kib * kib * kib, "GB/s"}}};

// Switches to the next unit when the value reaches 1000.
Scale fitting(std::uint64_t value, const std::array<Scale, 4>& scales) {
  std::size_t i = 0;
  while (i + 1 < scales.size() && static_cast<double>(value) * scales[i].factor >= 1000) ++i;
  return scales[i];
}

}  // namespace

std::string binary_size(double bytes) {
  constexpr std::array<const char*, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text.data();
}

std::string format_number(double value, std::string_view unit, NumberFormat format) {
  const int room = format.width - static_cast<int>(unit.size());
  std::string text =
      value >= format.exponent_from
          ? scientific(value, format.bare_exponent ? 0 : std::max(room - 6, 0), format.down)
          : filled(value, room, 6, format.down);
  return text.append(unit);
}

std::string format_real(double value, int width) {
  return format_number(value, "", {.width = width, .exponent_from = 1000});
}

std::string format_whole(std::uint64_t value, int width, std::uint64_t exponent_from) {
  if (value < exponent_from) return std::to_string(value);
  return scientific(static_cast<double>(value), std::max(width - 6, 0));
}

Scale time_scale(std::uint64_t largest) {
  if (largest < 1'000) return times[0];
  return largest < 1'000'000 ? times[1] : largest < 1'000'000'000 ? times[2] : times[3];
}
Scale size_scale(std::uint64_t largest) { return fitting(largest, sizes); }
Scale speed_scale(std::uint64_t largest) { return fitting(largest, speeds); }

Scale time_scale(Unit unit) {
  switch (unit) {
    case Unit::s: return times[3];
    case Unit::ms: return times[2];
    case Unit::us: return times[1];
    default: return times[0];
  }
}

namespace {

std::string automatic(std::uint64_t value, Scale scale, NumberFormat format) {
  if (scale.factor == 1 && value < 1000) return std::to_string(value).append(scale.unit);
  return format_number(static_cast<double>(value) * scale.factor, scale.unit, format);
}

}  // namespace

std::string format_time(std::uint64_t nanoseconds, NumberFormat format) {
  return automatic(nanoseconds, time_scale(nanoseconds), format);
}

std::string format_moment(std::int64_t nanoseconds) {
  const auto magnitude = static_cast<std::uint64_t>(nanoseconds);
  return nanoseconds < 0 ? "-" + format_time(-magnitude) : format_time(magnitude);
}

std::string format_size(std::uint64_t bytes, NumberFormat format) {
  return automatic(bytes, size_scale(bytes), format);
}

std::string format_speed(std::uint64_t bytes_per_second) {
  const Scale scale = speed_scale(bytes_per_second);
  return format_number(static_cast<double>(bytes_per_second) * scale.factor, scale.unit,
                       speed_format);
}

std::string format_scaled(std::uint64_t value, Scale scale, NumberFormat format) {
  if (format.whole && scale.factor == 1 && value < 1000) return std::to_string(value);
  const double scaled = static_cast<double>(value) * scale.factor;
  const bool exponent = scaled >= format.exponent_from || (scaled < 0.01 && value != 0);
  return exponent ? scientific(scaled, format.width - 6, format.down)
                  : filled(scaled, format.width, 6, format.down);
}

std::string format_percent(double percent) { return format_fixed(percent, 2) + "%"; }

std::string format_fixed(double value, int decimals) {
  return printed(value, std::chars_format::fixed, decimals);
}

std::string right_aligned(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

}  // namespace gpuprof::report
