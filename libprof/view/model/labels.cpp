#include "libprof/view/model/labels.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>

#include "libprof/report/number.hpp"

namespace gpuprof::view {

std::string time_text(double ns) {
  const char* unit = "ns";
  for (const char* next : {"µs", "ms", "s"}) {
    if (std::abs(ns) < 1000) break;
    ns /= 1000;
    unit = next;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.4g %s", ns, unit);
  return text;
}

// client/format.js formats drawn values in the same way.
std::string counter_text(double value, const std::string& unit) {
  if (unit == "bytes") return report::binary_size(value);
  char text[400];
  std::string base = unit;
  if (unit == "Celsius") base = "°C";
  if (unit == "byte/s") base = "B/s";
  if (unit == "mW") {
    base = "W";
    value /= 1e3;
  } else if (unit == "MHz") {
    base = "Hz";
    value *= 1e6;
  } else if (unit.ends_with("cycle/s")) {
    base = "Hz";
  } else if (!unit.ends_with("/s")) {
    std::snprintf(text, sizeof text, std::abs(value) < 1e5 ? "%.5g" : "%.0f", value);
    return base.empty() ? text : std::string(text) + " " + base;
  }
  std::string_view prefixes = "kMGTP";
  std::string prefix;
  for (; std::abs(value) >= 999.5 && !prefixes.empty(); prefixes.remove_prefix(1)) {
    value /= 1e3;
    prefix = prefixes.front();
  }
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::string(text) + " " + prefix + base;
}

}  // namespace gpuprof::view
