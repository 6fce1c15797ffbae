#include "libprof/terminal/account_bar.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/palette.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::terminal {
namespace {

struct Class {
  std::string_view name;  // in the account; of copies a direction follows
  std::string_view words;
  std::string_view sign, ascii;
  int colour;  // of 16
};

constexpr std::array<Class, Times::kinds> classes{{
    {"compute", "computing", "█", "#", 34},
    {"communication", "communicating", "▓", "%", 35},
    {"copy", "copying", "▒", "=", 33},
    {"set", "setting memory", "▞", "+", 33},
    {"launch", "idle, host launching", "╱", "^", 33},
    {"queued", "idle, work in its queue", "╌", "_", 35},
    {"call", "idle, host in CUDA calls", "░", "~", 31},
    {"no call", "idle, host in no CUDA call", "·", ".", 37},
    {"short gap", "idle in short gaps", "┄", "-", 32},
    {"unknown", "idle, calls not recorded", "?", "?", 37},
    {"idle", "idle", "·", ".", 37},
}};

// The color of the palette for dark pages, which most terminals are, in the cube of 256 colors.
int in_cube(std::string_view name) {
  std::string word(name == "idle" ? "no call" : name);
  std::ranges::replace(word, ' ', '-');
  const reading::PaletteColor* color = reading::find_color(word);
  const std::string_view digits = color ? color->dark : "#808080";
  int place = 16;
  for (const auto& [at, weight] : {std::pair{1, 36}, {3, 6}, {5, 1}}) {
    const int part = parse<int>(digits.substr(static_cast<std::size_t>(at), 2), 16).value_or(0);
    // The steps of the cube are 0, 95, 135, 175, 215, 255.
    place += weight * (part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40);
  }
  return place;
}

std::string painted(std::string text, const Class& its, const Style& style) {
  if (style.colours == 0 || text.empty()) return text;
  return (style.colours == 256 ? "\033[38;5;" + std::to_string(in_cube(its.name))
                               : "\033[" + std::to_string(its.colour)) +
         "m" + std::move(text) + "\033[0m";
}

std::string signs(const Class& its, std::size_t count, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += style.blocks ? its.sign : its.ascii;
  return painted(std::move(text), its, style);
}

}  // namespace

void Times::add(std::string_view what, std::int64_t ns) {
  if (what == "before" || what == "after" || ns <= 0) return;
  if (what.starts_with("copy ")) what = "copy";
  auto found = std::ranges::find(classes, what, &Class::name);
  if (found == classes.end()) found = std::prev(classes.end());  // of another version
  std::int64_t& time = ns_[static_cast<std::size_t>(found - classes.begin())];
  time = saturating_add(time, ns);
}

void Times::add(const Times& others) {
  for (std::size_t i = 0; i < ns_.size(); ++i) ns_[i] = saturating_add(ns_[i], others.ns_[i]);
}

std::int64_t Times::all() const {
  return std::accumulate(ns_.begin(), ns_.end(), std::int64_t{0}, saturating_add);
}

std::string bar(const Times& times, std::size_t width, const Style& style) {
  if (times.all() == 0) return std::string(width, ' ');
  const auto all = static_cast<double>(times.all());
  std::array<std::size_t, classes.size()> parts{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t ns = times[static_cast<Doing>(i)];
    if (ns == 0) continue;
    const double share = static_cast<double>(ns) / all * static_cast<double>(width);
    parts[i] = std::max<std::size_t>(static_cast<std::size_t>(share), 1);
    used += parts[i];
  }
  // What rounding took or gave, the largest part has or pays.
  std::size_t& largest = *std::ranges::max_element(parts);
  const std::size_t others = used - largest;
  largest = others < width ? width - others : 0;
  std::string text;
  std::size_t left = width;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t count = std::min(parts[i], left);  // forged times may add up to more
    text += signs(classes[i], count, style);
    left -= count;
  }
  return text;
}

std::string legend(const Times& times, const Style& style) {
  const std::int64_t all = times.all();
  std::string text;
  std::size_t column = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int64_t ns = times[static_cast<Doing>(i)];
    if (ns == 0) continue;
    const std::string words =
        std::string(classes[i].words) + " " +
        report::format_percent(100 * static_cast<double>(ns) / static_cast<double>(all));
    constexpr std::size_t between = 3, sign = 2;
    const std::size_t length = sign + characters(words);
    if (column > 0 && column + between + length > style.width) {
      text += '\n';
      column = 0;
    }
    if (column > 0) text += std::string(between, ' ');
    column += length + (column > 0 ? between : 0);
    text += signs(classes[i], 1, style) + " " + words;
  }
  return text + '\n';
}

}  // namespace gpuprof::terminal
