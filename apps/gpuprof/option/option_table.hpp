// The options of gpuprof, in one table. From it come parsing, help, the man page, completions and
// the table in docs/nvprof.md. Reports bring their options themselves (libprof/report/report.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"

namespace gpuprof::app {

enum class OptionGroup { collect, output, reports, format, filter, metrics, cpu, program };

struct OptionGroupInfo {
  OptionGroup group;
  std::string_view name;  // as --help takes it
  std::string_view title;
};

enum class Status {
  works,
  no_effect,  // accepted; `why` it changes nothing
  not_yet,    // accepted; `why` says what that means, or what there is meanwhile
  replaced,   // refused; `why` says what takes its place
};

// A value that an option does not take: a line before nvprof's own, what it does take, and the part
// of a list that is wrong. Each may be empty.
struct Refusal {
  std::string before = {};
  std::string takes = {};
  std::string part = {};
};

struct Option {
  std::string name;  // without dashes
  char letter = 0;
  std::string optional = {};  // what may stand behind '=' where there is no argument
  std::string argument = {};  // empty: takes none; with '|' in it: one of these; else what it is
  OptionGroup group;
  std::string help;  // a line; what follows a newline is for the long help
  Status status = Status::works;
  std::string why = {};
  std::string harmless = {};  // nvprof's default: with this value there is nothing to refuse or say
  bool ours = false;          // nvprof has none of this name
  bool common = false;        // in the short help
  bool once = false;          // has no place in a configuration file (option/presets.hpp)
  bool not_with_import = false;
  bool minus_values = false;  // a value may begin with '-', against nvprof's rule
  std::string alias = {};
  // For completion, where neither choices nor a file: words that may stand for what is typed of the
  // value; of a LIST, for its last part.
  std::vector<std::string> (*values)(std::string_view typed) = nullptr;
  std::function<std::optional<Refusal>(Options&, const std::string& value)> set = {};
};

std::span<const OptionGroupInfo> option_groups();
std::span<const Option> option_table();

// By name or alias; by letter. Null: there is none.
const Option* find_option(std::string_view name);
const Option* find_option(char letter);

// The name that is meant by one that is none; empty: it is like none of them.
std::string closest_option(std::string_view name);

// "on", "off" of "on|off"; nothing where the argument is no choice.
std::vector<std::string> choices(const Option& option);

// The first line of an option's or report's help.
std::string_view first_line(std::string_view help);

// What the user is told of an option that does not work: "not yet in this version: …".
std::string remark(const Option& option);

// Checks the value and sets it, or keeps what is to be said of the option.
std::optional<Refusal> apply(const Option& option, const std::string& value, Options& options);

}  // namespace gpuprof::app
