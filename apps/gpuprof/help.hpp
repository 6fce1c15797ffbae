// What gpuprof tells about itself, all of it from the table of options.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::app {

// --help: short without a topic; else of a group, of the options whose names have the topic in
// them, or "all".
int print_help(const std::string& topic);
int print_version();

std::string man_page();
// For "bash", "zsh" or "fish".
std::string completion(std::string_view shell);
// The tables of docs/nvprof.md.
std::string options_markdown();

// The first line of an option's or report's help.
std::string_view first_line(std::string_view help);

struct ExitCodeInfo {
  std::string_view code;
  std::string_view meaning;
};
inline constexpr ExitCodeInfo exit_codes[] = {
    {"0", "done, and the program ended with 0"},
    {"3", "no program was named"},
    {"4", "internal error, also: a variable of %q{NAME} is not set, the collector is missing"},
    {"5", "wrong option, or options that exclude one another"},
    {"6", "the last option lacks its value"},
    {"13", "the program was not found, or cannot be run"},
    {"20", "the profile or capture to read is missing, damaged or none"},
    {"21", "the output file exists, cannot be written, or the disk is full"},
    {"23", "there is no CUDA driver to ask"},
};

}  // namespace gpuprof::app
