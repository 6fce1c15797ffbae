// nvprof's numbers: a value with its unit in a fixed number of characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::report {

// A column's number format. `width` counts the unit; from `exponent_from` on there is an exponent.
struct NumberFormat {
  int width;
  double exponent_from;
};

inline constexpr NumberFormat time_format{.width = 8, .exponent_from = 1000};
inline constexpr NumberFormat size_format = time_format;

// As many digits as fit beside the unit, rounded half up on the scaled double, as nvprof does.
std::string format_number(double value, std::string_view unit, NumberFormat format);

// In the largest of ns, us, ms, s that leaves a digit before the point.
std::string format_time(std::uint64_t nanoseconds);

// In B, KB, MB or GB of 1024. nvprof goes to the next unit at 1000, so 1000 B are 0.9766KB.
std::string format_size(std::uint64_t bytes);

// Two decimals and a sign: "31.17%".
std::string format_percent(double percent);

}  // namespace gpuprof::report
