// C++ names as people read them. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// Readable form of a mangled C++ name; anything else comes back as it is, and so does a name that
// is beyond the demangler's limits (demangler.hpp).
std::string demangled(const std::string& name);

// The function's own name out of a readable one: no return type, namespaces, template arguments or
// parameters. "void at::native::reduce<4>(int)" -> "reduce".
std::string short_name(std::string_view demangled);

}  // namespace gpuprof
