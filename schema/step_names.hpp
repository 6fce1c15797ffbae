// The names that training code usually gives to its steps.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace gpuprof::schema {

// What a name may have at its end to be that of one of many, such as "step 12".
inline constexpr std::string_view number_after_name = " 0123456789:/#_";

// "step" of "step 12"; a name of nothing else stays.
constexpr std::string_view without_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of(number_after_name);
  return name.substr(0, last == name.npos ? name.size() : last + 1);
}

// Whether a range of this name is a step, with or without a number after it. Allocates nothing.
constexpr bool names_a_step(std::string_view name) {
  constexpr std::array<std::string_view, 13> usual{
      "step",        "iteration",   "iter",          "batch",         "profilerstep",
      "train step",  "train_step",  "training step", "training_step", "global step",
      "global_step", "train batch", "train_batch"};
  name = without_number(name);
  for (const std::string_view known : usual) {
    bool same = name.size() == known.size();
    for (std::size_t i = 0; same && i < known.size(); ++i) {
      const char c = name[i];
      same = known[i] == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    if (same) return true;
  }
  return false;
}

}  // namespace gpuprof::schema
