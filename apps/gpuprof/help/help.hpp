// What gpuprof tells about itself, all of it from the table of options.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"

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

// The first line of an option's or report's help.
std::string_view first_line(std::string_view help);

// For README.md and docs/nvprof.md.
std::string exit_codes_markdown();

// The exit codes there are besides the program's own; help, the man page and the documents have
// them from here.
struct ExitCodeInfo {
  int code;
  std::string_view meaning;

  constexpr ExitCodeInfo(ExitCode which, std::string_view what)
      : code(static_cast<int>(which)), meaning(what) {}
  constexpr ExitCodeInfo(int number, std::string_view what) : code(number), meaning(what) {}
};
inline constexpr ExitCodeInfo exit_codes[] = {
    {ExitCode::ok, "done, and the program ended with 0"},
    {ExitCode::no_application, "no program was named"},
    {ExitCode::internal,
     "internal error, also: a variable of %q{NAME} is not set, the collector is missing"},
    {ExitCode::bad_option, "wrong option, metric or window, or options that exclude one another"},
    {ExitCode::missing_argument, "the last option lacks its value"},
    {ExitCode::application_not_found, "the program was not found, or cannot be run"},
    {ExitCode::import_failed, "the profile or capture to read is missing, damaged or none"},
    {ExitCode::output_failed,
     "a file to write exists, cannot be written or was removed, or the disk is full"},
    {ExitCode::no_metrics, "metrics cannot be collected here, and --require-metrics was given"},
    {ExitCode::no_driver, "there is no CUDA driver to ask"},
    {ExitCode::nothing_recorded, "nothing was recorded, and --fail-if-empty was given"},
    {128 + SIGPIPE, "the reader of a stored profile's report has gone"},
};

}  // namespace gpuprof::app
