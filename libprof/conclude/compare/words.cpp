#include "libprof/conclude/compare/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "libprof/report/number.hpp"

namespace gpuprof::compare {

std::string number_text(double value, int decimals, bool sign) {
  char text[64];
  std::snprintf(text, sizeof text, sign ? "%+.*f" : "%.*f", decimals, value);
  return text;
}

std::string time_text(double ns) {
  return report::format_time(static_cast<std::uint64_t>(std::lround(std::max(ns, 0.0))));
}

std::string change_text(double ns) {
  const long whole = std::lround(ns);
  if (whole == 0) return "0";
  return (whole < 0 ? "-" : "+") + time_text(std::abs(ns));
}

std::string renamed_text(const std::string& was) { return " (in A most likely " + was + ")"; }

std::string share_text(double share) { return number_text(100 * share, 1) + " %"; }

std::string change_share_text(double share) { return number_text(100 * share, 1, true) + " %"; }

std::string bytes_text(double bytes) {
  return bytes >= 1e9 ? number_text(bytes / 1e9, 2) + " GB" : number_text(bytes / 1e6, 2) + " MB";
}

}  // namespace gpuprof::compare
