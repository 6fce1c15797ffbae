// The commands of gpuprof: one file per command. Each returns the program's exit code and throws
// gpuprof::Error to end with an error.
#pragma once

#include <functional>
#include <iostream>
#include <memory>
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

// A sub-command, selected by the first word: "gpuprof replay …". A program with that name must be
// run as ./replay, or after "--".
//
// To add one: define it in a file of command/ and add a line to command/list.cpp.
struct Subcommand {
  std::string_view name;
  std::string_view usage = {};  // what follows the name
  std::string_view help = {};   // one line; empty: hidden
  bool rare = false;            // the short help has only its name
  // Declares the arguments. The returned function is called after they have been parsed.
  std::function<int()> (*declare)(Grammar& grammar);
  // For completion: the possible words of one of the command's own options or arguments.
  std::vector<std::string> (*values)(std::string_view name) = nullptr;
};

// For `declare`, if a command has arguments: `take` declares them, `run` has them.
template <class Arguments, void (*take)(Grammar&, Arguments&), int (*run)(Arguments&)>
std::function<int()> command(Grammar& grammar) {
  const auto arguments = std::make_shared<Arguments>();
  take(grammar, *arguments);
  return [arguments] { return run(*arguments); };
}

// For `declare`, if a command only prints this text.
template <auto text>
std::function<int()> prints(Grammar&) {
  return [] {
    std::cout << text();
    return 0;
  };
}

// In help order.
std::span<const Subcommand* const> subcommands();
const Subcommand* find_subcommand(std::string_view name);  // null: no such command
// Throws Error if the first word is a synonym of a command, so that no program of that name is run
// by mistake.
void refuse_synonym(const std::vector<std::string>& words);
int run_subcommand(const Subcommand& command, const std::vector<std::string>& words);

}  // namespace gpuprof::app
