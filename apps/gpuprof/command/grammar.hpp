// The arguments of a sub-command, as data for the parser and for completion.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "apps/gpuprof/option/setters.hpp"

namespace gpuprof::app {

// How a command prints its tables: as CSV or JSON, or else as text.
struct TableLayout {
  bool csv = false, json = false;

  report::Layout chosen() const;  // throws Error if both are given
};

// Stores a value that is not empty. Returns what the option takes instead, empty if it takes this.
using Store = std::function<std::string(const std::string& value)>;

// The target of `to` must live until the command has run.
struct Argument {
  // "--from"; a name without dashes is a positional argument, in order of declaration.
  std::string_view name;
  // A flag; a value; a comma-separated list, which may be given several times; or a value that is
  // parsed after all have been read, in order of declaration.
  std::variant<bool*, std::string*, std::vector<std::string>*, Store> to;
  std::string_view help;
  std::string_view placeholder = {};  // what help prints instead of the value
  bool required = false;
  std::vector<std::string> choices = {};  // empty: any value
  bool several = false;                   // of a list without dashes: a word for each value

  bool is_word() const { return !name.starts_with('-'); }
};

// A number within these limits.
template <class Number>
Store number_to(Number& to, std::type_identity_t<Number> least,
                std::type_identity_t<std::optional<Number>> most = {}) {
  return [=, &to](const std::string& value) -> std::string {
    const auto given = parse<Number>(value);
    if (given && *given >= least && (!most || *given <= *most)) return to = *given, "";
    return "a number from " + std::to_string(least) +
           (most ? " to " + std::to_string(*most) : " on");
  };
}

// A time: "10s", "500ms", "5min", or seconds.
Store time_to(std::optional<std::chrono::milliseconds>& time);

// After which work that has not ended is named, ns.
Store hang_after(std::int64_t& time);

// "2%" or "2", as a share.
inline Store share_to(double& share, int most_percent = 100) {
  return [=, &share](const std::string& value) -> std::string {
    const std::string_view digits(value.data(), value.size() - value.ends_with('%'));
    const auto percent = parse<double>(digits);
    if (percent && *percent >= 0 && *percent <= most_percent) return share = *percent / 100, "";
    return "a percentage from 0 to " + std::to_string(most_percent);
  };
}

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
  void take(std::string_view name, decltype(Argument::to) to, std::string_view help,
            std::string_view placeholder = {}, std::vector<std::string> choices = {}) {
    take({.name = name,
          .to = std::move(to),
          .help = help,
          .placeholder = placeholder,
          .choices = std::move(choices)});
  }

  // A positional argument without which the command does not run.
  void take_file(std::string_view name, std::string& to, std::string_view help) {
    take({.name = name, .to = &to, .help = help, .placeholder = "FILE", .required = true});
  }

  // --from, --to and --nvtx of the main command, stored in `options.reports.filter`, with their own
  // help, or the main command's. A window that ends before it begins is refused.
  void take_window(Options& options, std::string_view from_help = {},
                   std::string_view to_help = {});

  // --csv and --json.
  void take_layout(TableLayout& layout);

  // Accept options of the main command: those with these names, those that print reports, and those
  // that determine the output file. They write to `options`, which must live until the command has
  // run.
  void take_options(Options& options, std::initializer_list<std::string_view> names);
  void take_report_options(Options& options);
  void take_output_options(Options& options);
  // Makes an accepted option required; the name is without dashes.
  void require(std::string_view name);

  // Collects the words after "--" unparsed.
  void take_after_dashes(std::vector<std::string>& words) { after_dashes_ = &words; }
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
  std::vector<std::string>* after_dashes_ = nullptr;
  std::string footer_;
};

}  // namespace gpuprof::app
