// Readable forms of C++ names. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// Readable form of a mangled C++ name. Anything else is returned unchanged, and so is a name that
// exceeds the demangler's limits (demangler.hpp).
std::string demangled(const std::string& name);

// The bare function name from a readable one, without return type, namespaces, template arguments
// or parameters: "void at::native::reduce<4>(int)" -> "reduce".
std::string short_name(std::string_view demangled);

}  // namespace gpuprof
