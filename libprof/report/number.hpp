// nvprof's numbers: a value with its unit in a fixed number of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::report {

// --normalized-time-unit. automatic: each value in the unit that fits it; column: one unit for each
// column; the others: that unit for times, one unit for each column of sizes and speeds.
enum class Unit { automatic, column, s, ms, us, ns };

// A column's number format. `width` counts the unit; from `exponent_from` on there is an exponent,
// with as many decimals as fit or with none.
struct NumberFormat {
  int width;
  double exponent_from;
  bool bare_exponent = false;
  bool whole = true;  // small values of the base unit have no decimals
  bool down = false;  // rounded down, not half up
};

inline constexpr NumberFormat time_format{.width = 8, .exponent_from = 1000};
inline constexpr NumberFormat size_format = time_format;
inline constexpr NumberFormat speed_format{.width = 10, .exponent_from = 10000, .whole = false};
// Totals of unified memory.
inline constexpr NumberFormat wide_format{
    .width = 10, .exponent_from = 1000, .bare_exponent = true};

// As many digits as fit beside the unit, rounded half up on the scaled double, as nvprof does.
std::string format_number(double value, std::string_view unit, NumberFormat format);

// A unit for a whole column: values are multiplied by `factor`.
struct Scale {
  double factor = 1;
  std::string_view unit;
};

// The unit in which nvprof prints `largest`: of times in ns, sizes in bytes, speeds in bytes/s.
Scale time_scale(std::uint64_t largest);
Scale size_scale(std::uint64_t largest);
Scale speed_scale(std::uint64_t largest);
// A unit as chosen for times; not for automatic and column.
Scale time_scale(Unit unit);

// Values of metrics have no unit: a real number, and a whole one, which has an exponent from some
// size on.
std::string format_real(double value, int width);
std::string format_whole(std::uint64_t value, int width,
                         std::uint64_t exponent_from = 10'000'000'000);

// Each in the largest unit that leaves a digit before the point: ns, us, ms, s; B, KB, MB, GB of
// 1024, where nvprof goes to the next unit at 1000, so that 1000 B are 0.9766KB.
std::string format_time(std::uint64_t nanoseconds, NumberFormat format = time_format);
std::string format_size(std::uint64_t bytes, NumberFormat format = size_format);
// A time after another one, or before it: "-1.5000ms".
std::string format_moment(std::int64_t nanoseconds);
std::string format_speed(std::uint64_t bytes_per_second);

// As the time of a row: rounded down, so that the row is there where it is given to --from.
inline constexpr NumberFormat start_format{.width = 8, .exponent_from = 1000, .down = true};

// In a column's unit, without it: "4.10e-03". Small values of the base unit stay whole: "900".
std::string format_scaled(std::uint64_t value, Scale scale, NumberFormat format);

// As people write it and nvprof does not: "1.4 GiB", "900 bytes".
std::string binary_size(double bytes);

// "31.17%": two decimals and a sign.
std::string format_percent(double percent);

// Six decimals, always; what CSV has.
std::string format_fixed(double value, int decimals = 6);

// With blanks before it, so that it has `width` characters.
std::string right_aligned(std::string text, std::size_t width);

}  // namespace gpuprof::report
