// Words as a shell takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// The word as it is, or in single quotes where a shell would read more into it.
std::string shell_word(std::string_view word);

// The words with blanks between, each as shell_word() has it.
std::string shell_line(const std::vector<std::string>& words);

// The words of a line that shell_line() made. Of another line what its quotes say, without
// expanding anything.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace gpuprof
