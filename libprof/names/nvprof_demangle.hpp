// C++ names as nvprof 11.8 prints them. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// The text nvprof prints for a mangled name: "_Z3barIfLi3EEvPT_" becomes "void bar<float,
// int=3>(float*)". Its mistakes are part of the style: numbered template parameters and
// substitutions may come out as a different type than the declared one. Names that nvprof leaves
// mangled, and names that are not mangled, are returned unchanged. Time and memory are bounded for
// any input.
std::string nvprof_demangled(std::string_view mangled);

}  // namespace gpuprof
