#include "libprof/base/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpuprof {

std::string demangled(const std::string& name) {
  // Without the prefix a plain C name would be read as a type: "f" is float.
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string short_name(std::string_view name) {
  if (const auto clone = name.find(" ["); clone != name.npos) name = name.substr(0, clone);
  constexpr std::string_view call_operator = "operator()";
  const auto at = name.rfind(call_operator);
  if (at != name.npos) return std::string(call_operator);

  // Without what stands in brackets, what is left is: return type, qualified name, qualifiers.
  std::string bare;
  int depth = 0;
  for (const char c : name) {
    const bool opens = c == '<' || c == '(' || c == '{';
    const bool closes = c == '>' || c == ')' || c == '}';
    if (closes && depth > 0) --depth;
    if (depth == 0 && !opens && !closes) bare += c;
    if (opens) ++depth;
  }
  if (bare.ends_with(" const")) bare.resize(bare.size() - 6);
  while (!bare.empty() && bare.back() == ' ') bare.pop_back();
  if (const auto space = bare.rfind(' '); space != bare.npos) bare.erase(0, space + 1);
  if (const auto scope = bare.rfind("::"); scope != bare.npos) bare.erase(0, scope + 2);
  return bare.empty() ? std::string(name) : bare;
}

}  // namespace gpuprof
