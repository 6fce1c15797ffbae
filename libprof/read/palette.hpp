// The colors of docs/design/look.md, as in the viewer, for everything that C++ draws.
#pragma once

#include <cstdint>
#include <optional>
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
    {"kernel-11", "#6a81ea", "#a7baff"}, {"htod", "#189e71", "#5ee6a9"},
    {"dtoh", "#cc5d47", "#ee6620"},      {"dtod", "#b88404", "#caae17"},
    {"peer", "#307e8e", "#9fecf7"},      {"copy", "#986105", "#fac173"},
    {"set", "#593f1e", "#a38e59"},       {"communication", "#b9426d", "#ff84bc"},
    {"api", "#474f58", "#768a99"},       {"nvtx-0", "#685a90", "#c0b0ea"},
    {"nvtx-1", "#65446f", "#a783b2"},    {"nvtx-2", "#8c78ab", "#9b87bb"},
    {"nvtx-3", "#9774a3", "#d4aee0"},    {"overhead", "#868e92", "#6c6d6e"},
    {"compute", "#0f4fbe", "#3d95ff"},   {"call", "#82512a", "#a75f30"},
    {"launch", "#9d8920", "#efeb71"},    {"queued", "#694d8d", "#bea8e7"},
    {"no-call", "#71718b", "#7481a0"},   {"short-gap", "#4e6e5e", "#879a8d"},
    {"unknown", "#404549", "#c9cdd3"},   {"before", "#868e92", "#6c6d6e"},
    {"after", "#868e92", "#6c6d6e"},     {"both", "#684bb5", "#8a70dd"},
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
// "[CUDA memcpy HtoD]". It depends on nothing else, so it is the same in all files, but for whether
// a kernel communicates, which a file may know (compute/communication.hpp); nullopt: its name says
// it.
std::string color_of_work(std::string_view name, std::optional<bool> communicates = {});

}  // namespace gpuprof::reading
