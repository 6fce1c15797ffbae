// C++ names as nvprof 11.8 prints them. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// The text nvprof prints for a mangled name: "_Z3barIfLi3EEvPT_" is "void bar<float,
// int=3>(float*)". Its mistakes are part of the style: numbered template parameters and
// substitutions may come out as another type than the declared one. What nvprof leaves mangled, and
// what is no mangled name, comes back as it is. Time and memory are bounded for any input.
std::string nvprof_demangled(std::string_view mangled);

}  // namespace gpuprof
