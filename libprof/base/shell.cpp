#include "libprof/base/shell.hpp"

#include "libprof/base/text.hpp"

namespace gpuprof {

std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$`!*?[](){}<>|&;#~") == word.npos) {
    return std::string(word);
  }
  return "'" + replaced_all(std::string(word), "'", "'\\''") + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  return joined(words, " ", shell_word);
}

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false, quoted = false;  // a word; single quotes
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '\'') {
      quoted = !quoted;
      continue;
    }
    if (!quoted && c == '\\' && i + 1 < line.size()) c = line[++i];
    words.back() += c;
  }
  return words;
}

}  // namespace gpuprof
