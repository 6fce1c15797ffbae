// The arguments of a sub-command, as data for the parser and for completion.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"

namespace gpuprof::app {

struct Option;

// The target of `to` must live until the command has run.
struct Argument {
  // "--from"; a name without dashes is a positional argument, in order of declaration.
  std::string_view name;
  // A flag; a value; or a comma-separated list, which may be given several times.
  std::variant<bool*, std::string*, std::vector<std::string>*> to;
  std::string_view help;
  std::string_view placeholder = {};  // what help prints instead of the value
  bool required = false;
  std::vector<std::string> choices = {};  // empty: any value

  bool is_word() const { return !name.starts_with('-'); }
};

class Grammar {
 public:
  // An option of the main command; its preset applies here too.
  struct Shared {
    const Option* option;
    Options* options;  // where it is stored
    bool required;
  };
  using Taken = std::variant<Argument, Shared>;

  void take(Argument argument) { taken_.emplace_back(std::move(argument)); }

  // Accept options of the main command: those with these names, those that print reports, and those
  // that determine the output file. They write to `options`, which must live until the command has
  // run.
  void take_options(Options& options, std::initializer_list<std::string_view> names);
  void take_report_options(Options& options);
  void take_output_options(Options& options);
  // Makes an accepted option required; the name is without dashes.
  void require(std::string_view name);

  // Collects all words unparsed: none is an option of this command.
  void take_all(std::vector<std::string>& words) { all_ = &words; }

  // Printed after the options in the command's help.
  void footer(std::string text) { footer_ = std::move(text); }

  // In help order.
  std::span<const Taken> taken() const { return taken_; }

  // Sets what `words` specify, or prints the help, or throws an error about them. Returns nullopt
  // if the command should run, otherwise the program's exit code.
  std::optional<int> parse(std::string_view name, std::string_view help,
                           const std::vector<std::string>& words) const;

 private:
  void take_shared(Options& options, const std::vector<const Option*>& chosen);

  std::vector<Taken> taken_;
  std::vector<std::string>* all_ = nullptr;
  std::string footer_;
};

}  // namespace gpuprof::app
