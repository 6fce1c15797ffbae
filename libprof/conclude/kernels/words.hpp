// What is known of kernels in words, for text and Markdown. What comes from the file is printable.
#pragma once

#include <string>
#include <vector>

#include "libprof/conclude/kernels/kernels.hpp"

namespace gpuprof::kernels {

// "NVIDIA H200: 10 launches of 5 shapes take 26.1600ms."
std::string headline(const Kernels& kernels);

// A line of a page, or several under one label.
struct Fact {
  std::string label;
  std::vector<std::string> lines;
};
std::vector<Fact> facts_of(const Kernel& kernel);

// Where Kernels::patched.
inline constexpr char patched_words[] =
    "Times may be longer than usual: to count operations, the code of kernels was patched while "
    "they were traced. gpu__time_duration.sum, if it was measured, is the usual time.";

// What readers should know of all pages, and what is missing in them; sentences.
std::vector<std::string> remarks(const Kernels& kernels);

}  // namespace gpuprof::kernels
