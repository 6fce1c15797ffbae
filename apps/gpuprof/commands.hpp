// What gpuprof can be told to do: one file per command. Each returns the program's exit code and
// throws gpuprof::Error for what ends it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/option/command_line.hpp"

namespace gpuprof::app {

int run_command(const Options& options);
int import_command(const Options& options);
int query_metrics_command(const Options& options);

// What a first word names: "gpuprof replay …". A program of that name is run as ./replay, or after
// "--".
//
// A new one: a file of command/ that defines it, and a line in command/list.cpp.
struct Subcommand {
  std::string_view name;
  std::string_view usage;  // what follows the name
  std::string_view help;   // a line; empty: not shown
  // Declares what it takes. What comes back is called when that has been parsed.
  std::function<int()> (*declare)(Grammar& grammar);
  // For completion: words that an option or argument of its own takes.
  std::vector<std::string> (*values)(std::string_view name) = nullptr;
};

// In the order in which help shows them.
std::span<const Subcommand* const> subcommands();
const Subcommand* find_subcommand(std::string_view name);  // null: there is none
// Throws Error where the first of the words is kept for a command that there is not yet, so that no
// program of that name is run by mistake.
void refuse_command_to_come(const std::vector<std::string>& words);
std::span<const std::string_view> commands_to_come();
int run_subcommand(const Subcommand& command, const std::vector<std::string>& words);

}  // namespace gpuprof::app
