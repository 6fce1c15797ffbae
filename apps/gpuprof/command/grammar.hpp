// What a sub-command takes, as data: the parser and completion read it.
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

// What it writes to must live until the command has run.
struct Argument {
  // "--from"; without dashes: a word, in the order in which these are taken.
  std::string_view name;
  // A flag; a value; values with commas between, which may be given several times.
  std::variant<bool*, std::string*, std::vector<std::string>*> to;
  std::string_view help;
  std::string_view placeholder = {};  // what help says in place of the value
  bool required = false;
  std::vector<std::string> choices = {};  // empty: any value

  bool is_word() const { return !name.starts_with('-'); }
};

class Grammar {
 public:
  // An option of the main command, with its preset.
  struct Shared {
    const Option* option;
    Options* options;  // what it writes to
    bool required;
  };
  using Taken = std::variant<Argument, Shared>;

  void take(Argument argument) { taken_.emplace_back(std::move(argument)); }

  // Options of the main command: those of these names, those that print reports, and those that say
  // where a profile goes. They write to `options`, which must live until the command has run.
  void take_options(Options& options, std::initializer_list<std::string_view> names);
  void take_report_options(Options& options);
  void take_output_options(Options& options);
  // One that was taken, by its name without dashes.
  void require(std::string_view name);

  // All words, whatever they are: none is an option of this command.
  void take_all(std::vector<std::string>& words) { all_ = &words; }

  // Behind the options, in the command's help.
  void footer(std::string text) { footer_ = std::move(text); }

  // In the order in which help shows them.
  std::span<const Taken> taken() const { return taken_; }

  // Sets what `words` say, or prints the help, or throws what is wrong with them. Nothing: the
  // command is to be run. Else the program's exit code.
  std::optional<int> parse(std::string_view name, std::string_view help,
                           const std::vector<std::string>& words) const;

 private:
  void take_shared(Options& options, const std::vector<const Option*>& chosen);

  std::vector<Taken> taken_;
  std::vector<std::string>* all_ = nullptr;
  std::string footer_;
};

}  // namespace gpuprof::app
