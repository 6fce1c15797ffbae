// gpuprof's help, all of it generated from the option table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::app {

// --help: short without a topic; otherwise for a group, for the options whose names contain the
// topic, or for "all".
int print_help(const std::string& topic);
int print_version();

std::string man_page();
// The script for "bash", "zsh" or "fish", and the answers to its requests.
std::string_view completion(std::string_view shell);
void print_completion(std::string_view shell, std::vector<std::string> words);
// The tables of docs/nvprof.md.
std::string options_markdown();

// For README.md and docs/nvprof.md.
std::string exit_codes_markdown();

}  // namespace gpuprof::app
