// What gpuprof tells about itself, all of it from the table of options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::app {

// --help: short without a topic; else of a group, of the options whose names have the topic in
// them, or "all".
int print_help(const std::string& topic);
int print_version();

std::string man_page();
// For "bash", "zsh" or "fish": the script, and the answer to it.
std::string_view completion(std::string_view shell);
void print_completion(std::string_view shell, std::vector<std::string> words);
// The tables of docs/nvprof.md.
std::string options_markdown();

// For README.md and docs/nvprof.md.
std::string exit_codes_markdown();

}  // namespace gpuprof::app
