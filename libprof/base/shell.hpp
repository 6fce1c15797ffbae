// Words as a shell parses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// The word unchanged, or in single quotes if a shell would interpret it.
std::string shell_word(std::string_view word);

// The words separated by spaces, each quoted by shell_word().
std::string shell_line(const std::vector<std::string>& words);

// The words of a line that shell_line() produced. Of any other line only the quotes are
// interpreted; nothing is expanded.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace gpuprof
