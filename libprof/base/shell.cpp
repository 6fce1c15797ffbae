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

}  // namespace gpuprof
