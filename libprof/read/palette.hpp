// The colors of docs/design/look.md, as in the viewer, for everything that C++ draws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::reading {

struct PaletteColor {
  std::string_view name;         // "htod", "kernel-3", "no-call"
  std::string_view light, dark;  // "#rrggbb", for a light and a dark ground
};

// Generated from libprof/view/client/palette.css by tests/golden/test_palette.py --write.
inline constexpr PaletteColor palette[] = {
    {"ground", "#ffffff", "#15181c"},    {"raised", "#f3f4f6", "#1f242a"},
    {"line", "#d5d9de", "#363d46"},      {"text", "#1b1f24", "#e6e9ed"},
    {"faint", "#5b6470", "#9aa4b0"},     {"accent", "#0b62c4", "#6cb0ff"},
    {"wait", "#b0490a", "#ffa057"},      {"loss", "#b3261e", "#8f1d17"},
    {"loss-text", "#ffffff", "#ffe9e7"}, {"ink", "#10151b", "#10151b"},
    {"paper", "#ffffff", "#ffffff"},     {"kernel-0", "#0062bb", "#3587e3"},
    {"kernel-1", "#007275", "#03999d"},  {"kernel-2", "#684bb5", "#8a70dd"},
    {"kernel-3", "#0f6e89", "#0994b9"},  {"kernel-4", "#8b3c98", "#b261be"},
    {"kernel-5", "#4657bd", "#667ce5"},  {"kernel-6", "#3a8ce8", "#91c1fd"},
    {"kernel-7", "#099b9e", "#0cd8dd"},  {"kernel-8", "#8e75e2", "#bfb1ff"},
    {"kernel-9", "#1699be", "#3dd0fe"},  {"kernel-10", "#b665c3", "#ed99fa"},
    {"kernel-11", "#6a81ea", "#a7baff"}, {"htod", "#208652", "#76d69c"},
    {"dtoh", "#c94c48", "#cb682e"},      {"dtod", "#a28b03", "#ebd442"},
    {"peer", "#3293a1", "#5ff8ec"},      {"copy", "#8d5703", "#f09e36"},
    {"set", "#684a22", "#bb9467"},       {"communication", "#b71277", "#f755b0"},
    {"api", "#4e545c", "#7e888f"},       {"nvtx-0", "#6e568d", "#bab2ed"},
    {"nvtx-1", "#65446f", "#a783b2"},    {"nvtx-2", "#8c78ab", "#9b87bb"},
    {"nvtx-3", "#9774a3", "#d4aee0"},    {"overhead", "#888e96", "#898a8c"},
    {"compute", "#0252ba", "#3c7ee8"},   {"call", "#5c2f27", "#aa7a54"},
    {"launch", "#a6860e", "#dfd264"},    {"queued", "#8266a7", "#af91db"},
    {"no-call", "#363a52", "#b3c0e1"},   {"short-gap", "#588a6e", "#527572"},
    {"unknown", "#535454", "#dfe6e6"},   {"before", "#888e96", "#898a8c"},
    {"after", "#888e96", "#898a8c"},     {"both", "#684bb5", "#8a70dd"},
};
inline constexpr std::uint32_t kernel_colors = 12;
// The end of what is generated.

// Null: there is no such color.
constexpr const PaletteColor* find_color(std::string_view name) {
  for (const PaletteColor& each : palette) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// The color of GPU work with this name: of a kernel's function, without template arguments, or
// "[CUDA memcpy HtoD]". It depends on nothing else, so it is the same in all files.
std::string color_of_work(std::string_view name);

}  // namespace gpuprof::reading
