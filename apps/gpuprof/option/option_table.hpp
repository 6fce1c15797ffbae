// gpuprof's options, in one table. Parsing, help, the man page, completion and the table in
// docs/nvprof.md are generated from it. Reports declare their own options
// (libprof/report/report.hpp).
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
  std::string_view name;  // as passed to --help
  std::string_view title;
};

enum class Status {
  works,
  no_effect,  // accepted; `why` says why it changes nothing
  not_yet,    // accepted; `why` says what that means, or what to use meanwhile
  replaced,   // refused; `why` names the replacement
};

// A rejected value: a line to print before nvprof's, what the option accepts, and the invalid part
// of a list. Each may be empty.
struct Refusal {
  std::string before = {};
  std::string takes = {};
  std::string part = {};
};

enum OptionFlags : unsigned {
  ours = 1,    // not an nvprof option
  common = 2,  // in the short help
  once = 4,    // not allowed in a configuration file (option/presets.hpp)
  not_with_import = 8,
  minus_values = 16,  // a value may begin with '-', unlike nvprof's
};

struct Option {
  std::string name;  // without dashes
  char letter = 0;
  std::string optional = {};    // what may follow '=' if there is no argument
  bool is_placeholder = false;  // `optional` stands for a value that `set` checks
  std::string argument = {};  // empty: no argument; with '|': one of these; otherwise a placeholder
  OptionGroup group = {};     // by the list that the option is in
  std::string help;           // first line: short help; the rest: long help only
  Status status = Status::works;
  std::string why = {};
  std::string harmless = {};  // nvprof's default: this value never causes a refusal or a remark
  unsigned is = 0;            // OptionFlags
  std::string alias = {};
  // For completion, if neither choices nor a file: the words that match what is typed of the value;
  // for a LIST, of its last part.
  std::vector<std::string> (*values)(std::string_view typed) = nullptr;
  std::function<std::optional<Refusal>(Options&, const std::string& value)> set = {};
};

std::span<const OptionGroupInfo> option_groups();
std::span<const Option> option_table();

// By name or alias; by letter. Null if there is none.
const Option* find_option(std::string_view name);
const Option* find_option(char letter);

// The option that an unknown name most likely means; empty if none is close.
std::string closest_option(std::string_view name);

// "on", "off" of "on|off"; empty if the argument is not a choice.
std::vector<std::string> choices(const Option& option);

// The first line of the help of an option or report.
std::string_view first_line(std::string_view help);

// The message for an option that does not work: "not yet in this version: …".
std::string remark(const Option& option);

// Checks and sets the value, or records the remark about the option.
std::optional<Refusal> apply(const Option& option, const std::string& value, Options& options);

}  // namespace gpuprof::app
