// nvprof's number format: a value with its unit in a fixed number of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::report {

// --normalized-time-unit. automatic: the best unit for each value; column: one unit per column;
// others: that unit for times, and one unit per column of sizes and speeds.
enum class Unit { automatic, column, s, ms, us, ns };

// A column's number format. `width` includes the unit; values from `exponent_from` on have an
// exponent, with as many decimals as fit, or none.
struct NumberFormat {
  int width;
  double exponent_from;
  bool bare_exponent = false;
  bool whole = true;  // small values in the base unit have no decimals
  bool down = false;  // round down instead of half up
};

inline constexpr NumberFormat time_format{.width = 8, .exponent_from = 1000};
inline constexpr NumberFormat size_format = time_format;
inline constexpr NumberFormat speed_format{.width = 10, .exponent_from = 10000, .whole = false};
// For totals of unified memory.
inline constexpr NumberFormat wide_format{
    .width = 10, .exponent_from = 1000, .bare_exponent = true};

// As many digits as fit next to the unit; the scaled double is rounded half up, as nvprof does.
std::string format_number(double value, std::string_view unit, NumberFormat format);

// A unit for a whole column: values are multiplied by `factor`.
struct Scale {
  double factor = 1;
  std::string_view unit;
};

// The unit in which nvprof prints `largest`: time in ns, size in bytes, speed in bytes/s.
Scale time_scale(std::uint64_t largest);
Scale size_scale(std::uint64_t largest);
Scale speed_scale(std::uint64_t largest);
// The scale of a unit chosen for times; not for automatic or column.
Scale time_scale(Unit unit);

// Metric values without a unit: a real number, and a whole number that gets an exponent from
// `exponent_from` on.
std::string format_real(double value, int width);
std::string format_whole(std::uint64_t value, int width,
                         std::uint64_t exponent_from = 10'000'000'000);

// Each in the largest unit with a digit before the point: ns, us, ms, s; B, KB, MB, GB in steps of
// 1024. nvprof switches units at 1000, so 1000 B print as 0.9766KB.
std::string format_time(std::uint64_t nanoseconds, NumberFormat format = time_format);
std::string format_size(std::uint64_t bytes, NumberFormat format = size_format);
// A signed time difference: "-1.5000ms".
std::string format_moment(std::int64_t nanoseconds);
std::string format_speed(std::uint64_t bytes_per_second);

// For start times: rounded down, so that passing the printed time to --from includes the row.
inline constexpr NumberFormat start_format{.width = 8, .exponent_from = 1000, .down = true};

// A value in the column's unit, without the unit: "4.10e-03". Small values in the base unit stay
// whole: "900".
std::string format_scaled(std::uint64_t value, Scale scale, NumberFormat format);

// A readable size, unlike nvprof's: "1.4 GiB", "900 bytes".
std::string binary_size(double bytes);

// "31.17%": two decimals and a percent sign.
std::string format_percent(double percent);

// Always `decimals` decimals; CSV has six.
std::string format_fixed(double value, int decimals = 6);

// Pads on the left to `width` characters.
std::string right_aligned(std::string text, std::size_t width);

}  // namespace gpuprof::report
