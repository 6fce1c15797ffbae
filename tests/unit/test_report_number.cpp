#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "libprof/report/number.hpp"

using gpuprof::report::format_moment;
using gpuprof::report::format_number;
using gpuprof::report::format_percent;
using gpuprof::report::format_size;
using gpuprof::report::format_time;
using gpuprof::report::NumberFormat;

TEST_CASE("times fill eight characters with their unit") {
  CHECK(format_time(0) == "0ns");
  CHECK(format_time(999) == "999ns");
  CHECK(format_time(1000) == "1.0000us");
  CHECK(format_moment(-1000) == "-1.0000us");
  CHECK(format_time(1333) == "1.3330us");
  CHECK(format_time(80'123) == "80.123us");
  CHECK(format_time(403'185) == "403.19us");
  CHECK(format_time(999'950) == "999.95us");
  CHECK(format_time(1'000'000) == "1.0000ms");
  CHECK(format_time(250'017'000) == "250.02ms");
  CHECK(format_time(1'000'000'000) == "1.00000s");
  CHECK(format_time(1'234'567'890) == "1.23457s");
  CHECK(format_time(999'990'000'000) == "999.990s");
}

TEST_CASE("a time that rounding makes longer loses a decimal") {
  CHECK(format_time(99'999'600) == "100.00ms");
  CHECK(format_time(9'999'960) == "10.000ms");
  CHECK(format_time(999'999) == "1000.0us");
  CHECK(format_time(999'999'999) == "1000.0ms");
}

TEST_CASE("times from a thousand seconds on have an exponent") {
  CHECK(format_time(1'000'000'000'000) == "1.0e+03s");
  CHECK(format_time(1'234'000'000'000) == "1.2e+03s");
  CHECK(format_time(50'000'000'000'000) == "5.0e+04s");
}

TEST_CASE("the scaled double decides how a tie is rounded") {
  // ns * 1e-3 * 100 and ns * 1e-6 * 10000 in doubles: at .5 or a hair below it.
  CHECK(format_time(100'005) == "100.01us");
  CHECK(format_time(128'075) == "128.07us");
  CHECK(format_time(128'105) == "128.10us");
  CHECK(format_time(1'000'450) == "1.0005ms");
  CHECK(format_time(1'000'050) == "1.0000ms");
  CHECK(format_time(1'001'850) == "1.0018ms");
}

TEST_CASE("with an exponent the mantissa decides how a tie is rounded") {
  using gpuprof::report::format_scaled;
  using gpuprof::report::time_format;
  // As nvprof 11.8 prints them with -u ns and -u ms.
  CHECK(format_scaled(1005, {1, "ns"}, time_format) == "1.01e+03");
  CHECK(format_scaled(1035, {1, "ns"}, time_format) == "1.03e+03");
  CHECK(format_scaled(1045, {1, "ns"}, time_format) == "1.05e+03");
  CHECK(format_scaled(1045, {1e-6, "ms"}, time_format) == "1.05e-03");
  CHECK(format_scaled(1025, {1e-6, "ms"}, time_format) == "1.02e-03");
  CHECK(format_scaled(9'999, {1, "ns"}, time_format) == "1.00e+04");
}

TEST_CASE("sizes go to the next unit at 1000") {
  CHECK(format_size(0) == "0B");
  CHECK(format_size(999) == "999B");
  CHECK(format_size(1000) == "0.9766KB");
  CHECK(format_size(1024) == "1.0000KB");
  CHECK(format_size(128 << 10) == "128.00KB");
  CHECK(format_size(1000 << 10) == "0.9766MB");
  CHECK(format_size(4 << 20) == "4.0000MB");
  CHECK(format_size(12'345'883'263) == "11.498GB");
  CHECK(format_size(1000ULL << 30) == "1e+03GB");
}

TEST_CASE("a number has as many digits as its column leaves") {
  constexpr NumberFormat speed{.width = 10, .exponent_from = 10'000};
  CHECK(format_number(0, "B/s", speed) == "0.00000B/s");
  CHECK(format_number(0.5, "GB/s", speed) == "0.5000GB/s");
  CHECK(format_number(5000, "GB/s", speed) == "5000.0GB/s");
  CHECK(format_number(12'345, "GB/s", speed) == "1e+04GB/s");
}

TEST_CASE("numbers without an end are printed") {
  using gpuprof::report::format_fixed;
  using gpuprof::report::format_real;
  using gpuprof::report::format_scaled;
  using gpuprof::report::time_format;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double most = std::numeric_limits<double>::max();
  constexpr double least = std::numeric_limits<double>::denorm_min();
  for (const NumberFormat format :
       {time_format, NumberFormat{.width = 10, .exponent_from = 1e9},
        NumberFormat{.width = 10, .exponent_from = inf}, gpuprof::report::wide_format}) {
    CHECK(format_number(inf, "", format) == "inf");
    CHECK(format_number(-inf, "", format) == "-inf");
    CHECK(format_number(nan, "", format) == "nan");
    CHECK(format_number(-nan, "", format) == "nan");
    CHECK(format_number(most, "", format).size() <= 320);
    CHECK(format_number(least, "", format).size() <= 20);
  }
  CHECK(format_real(inf, 10) == "inf");
  CHECK(format_real(nan, 10) == "nan");
  CHECK(format_fixed(inf) == "inf");
  CHECK(format_percent(nan) == "nan%");
  CHECK(format_scaled(5, {inf, "s"}, time_format) == "inf");
  CHECK(format_scaled(0, {inf, "s"}, time_format) == "nan");
  CHECK(gpuprof::report::binary_size(inf) == "inf TiB");
}

TEST_CASE("starts are rounded down, and what they are exactly they stay") {
  using gpuprof::report::format_scaled;
  using gpuprof::report::start_format;
  CHECK(format_time(3'628'618'000, start_format) == "3.62861s");
  CHECK(format_time(3'628'610'000, start_format) == "3.62861s");
  CHECK(format_time(3'628'609'999, start_format) == "3.62860s");
  CHECK(format_time(999'999'999, start_format) == "999.99ms");
  CHECK(format_time(403'189, start_format) == "403.18us");
  CHECK(format_time(1'999'999'999'999, start_format) == "1.9e+03s");
  CHECK(format_time(999, start_format) == "999ns");
  CHECK(format_scaled(3'628'618'000, {1e-6, "ms"}, start_format) == "3.62e+03");
  // Each number that is printed exactly, in both units of seconds and of milliseconds.
  for (std::uint64_t i = 100'000; i < 1'000'000; i += 7) {
    const std::string seconds = format_time(i * 10'000, start_format);
    CHECK(std::stod(seconds) * 1e9 == Approx(static_cast<double>(i * 10'000)).epsilon(1e-12));
  }
}

TEST_CASE("percentages have two decimals") {
  CHECK(format_percent(0) == "0.00%");
  CHECK(format_percent(100.0 / 3) == "33.33%");
  CHECK(format_percent(100) == "100.00%");
}
