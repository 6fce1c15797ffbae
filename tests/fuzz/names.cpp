// Names and texts that a target chooses: C++ names made readable, and words quoted for a shell.
//
// The demanglers have to end, within libFuzzer's limits on time and memory. A quoted word has to
// come back from a shell as it went in.
#include "libprof/base/demangle.hpp"
#include "libprof/base/nvprof_demangle.hpp"
#include "libprof/base/shell.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

// What a shell makes of a word that is not in double quotes.
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
