#include "libprof/names/demangle.hpp"

#include <algorithm>
#include <cctype>

#include "libprof/names/demangler.hpp"

namespace gpuprof {
namespace {

// "operator()", "operator<<": names whose signs are not brackets. Empty if no such name begins
// here.
std::string_view operator_at(std::string_view name, std::size_t at) {
  constexpr std::string_view word = "operator";
  const std::string_view rest = name.substr(at);
  const bool inside_a_word =
      at > 0 && (std::isalnum(static_cast<unsigned char>(name[at - 1])) || name[at - 1] == '_');
  if (inside_a_word || !rest.starts_with(word)) return {};
  const std::string_view signs = rest.substr(word.size());
  if (signs.starts_with("()")) return rest.substr(0, word.size() + 2);
  const std::size_t count = std::min(signs.find_first_not_of("<>=!+-*/%^&|~,[]"), signs.size());
  return count > 0 ? rest.substr(0, word.size() + count) : std::string_view();
}

}  // namespace

std::string demangled(const std::string& name) { return Demangler::shared().now(name).text; }

std::string short_name(std::string_view name) {
  if (const auto clone = name.find(" ["); clone != name.npos) name = name.substr(0, clone);
  // Outside of all brackets, what is left is: return type, qualified name, qualifiers.
  std::string bare;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (const auto sign = operator_at(name, at); depth == 0 && !sign.empty()) {
      bare += sign;
      at += sign.size() - 1;
      continue;
    }
    const char c = name[at];
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
