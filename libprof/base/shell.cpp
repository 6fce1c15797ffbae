#include "libprof/base/shell.hpp"

namespace gpuprof {

std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$`!*?[](){}<>|&;#~") == word.npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
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
