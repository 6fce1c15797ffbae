// Names and texts chosen by a target: C++ names are demangled, and words are quoted for a shell.
//
// The demanglers must finish within libFuzzer's limits on time and memory. A shell must read a
// quoted word back unchanged.
#include "libprof/base/shell.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/names/nvprof_demangle.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

// How a shell reads a word without double quotes.
std::string unquoted(std::string_view word) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (word[i] == '\\' && !quoted && i + 1 < word.size()) {
      text += word[++i];
    } else {
      text += word[i];
    }
  }
  if (quoted) finding("a quote is left open");
  return text;
}

void cxx_name(const std::string& name) {
  short_name(nvprof_demangled(name));
  short_name(demangled(name));
  short_name(name);
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof::fuzz;
  const std::string text(as_text({data, size}));
  cxx_name(text);
  cxx_name("_Z" + text);
  if (unquoted(gpuprof::shell_word(text)) != text) finding("a shell reads another word");
  return 0;
}
