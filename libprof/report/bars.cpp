#include "libprof/report/bars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace gpuprof::report {
namespace {

// From one eighth up.
constexpr std::array<std::string_view, 8> wide{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::array<std::string_view, 8> high{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> dots{"_", ".", ":", "-", "=", "+", "*", "#"};

// NaN counts as 0.
double within_one(double share) { return share > 0 ? std::min(share, 1.0) : 0; }

}  // namespace

std::string bar(double share, std::size_t width, bool blocks) {
  const double part = within_one(share);
  const std::size_t eighths = blocks ? 8 : 1;
  auto units = static_cast<std::size_t>(
      std::llround(part * static_cast<double>(width) * static_cast<double>(eighths)));
  if (part > 0) units = std::max<std::size_t>(units, 1);
  std::string text;
  std::size_t characters = units / eighths;
  for (std::size_t i = 0; i < characters; ++i) text += blocks ? wide.back() : "#";
  if (const std::size_t rest = units % eighths; rest > 0) {
    text += wide[rest - 1];
    ++characters;
  }
  return text + std::string(width - characters, ' ');
}

std::string chart(std::span<const double> values, bool blocks) {
  const auto& levels = blocks ? high : dots;
  std::string text;
  for (const double value : values) {
    if (std::isnan(value)) {
      text += ' ';
      continue;
    }
    const auto level = static_cast<std::size_t>(within_one(value) * 8);
    text += levels[std::min(level, levels.size() - 1)];
  }
  return text;
}

}  // namespace gpuprof::report
