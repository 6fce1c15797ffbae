#include "apps/gpuprof/help/complete.hpp"

#include <algorithm>
#include <optional>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "apps/gpuprof/option/option_table.hpp"

namespace gpuprof::app {
namespace {

using Kind = Completion::Kind;
using Words = std::vector<std::string>;

// An option of the main command or of a sub-command.
struct Offered {
  Words names = {};           // "-o", "--export-profile"
  std::string argument = {};  // empty: no argument; "FILE", "LIST" …
  std::string help;
  bool minus_values = false;  // a value may begin with '-'
  // The words that match what is typed of the argument, or of the last part of a list.
  std::function<Words(std::string_view typed)> values = {};
};

bool is_file(std::string_view argument) { return argument == "FILE" || argument == "PATH"; }

bool is_list(std::string_view argument) { return argument == "LIST"; }

Offered offered(const Option& option) {
  Offered result{.names = {"--" + option.name},
                 .argument = option.argument,
                 .help = std::string(first_line(option.help)),
                 .minus_values = (option.is & minus_values) != 0,
                 .values = option.values};
  if (option.letter) result.names.push_back(std::string("-") + option.letter);
  if (!result.values) result.values = [&option](std::string_view) { return choices(option); };
  return result;
}

// An argument of a sub-command; a positional one has no names.
Offered offered(const Subcommand& command, const Argument& argument) {
  Offered result{.help = std::string(argument.help)};
  if (!argument.is_word()) result.names.emplace_back(argument.name);
  if (std::holds_alternative<bool*>(argument.to)) return result;
  const bool list = std::holds_alternative<std::vector<std::string>*>(argument.to);
  result.argument = argument.several               ? "FILE"
                    : list                         ? "LIST"
                    : argument.placeholder.empty() ? "VALUE"
                                                   : argument.placeholder;
  if (!argument.choices.empty()) {
    result.values = [choices = argument.choices](std::string_view) { return choices; };
  } else if (command.values) {
    const std::string name(argument.name.substr(argument.name.find_first_not_of('-')));
    result.values = [&command, name](std::string_view) { return command.values(name); };
  }
  return result;
}

std::vector<Offered> main_options() {
  std::vector<Offered> all;
  for (const Option& option : option_table()) {
    if (option.status == Status::works) all.push_back(offered(option));
  }
  return all;
}

Completion words_of(const Words& words, std::string_view typed) {
  Completion completion{.kind = Kind::words};
  for (const std::string& word : words) {
    if (!word.starts_with(typed)) continue;
    completion.words.push_back({word});
    if (word.ends_with(':')) completion.kind = Kind::list;
  }
  return completion;
}

Completion value_of(const Offered& option, const std::string& typed) {
  if (is_file(option.argument)) return {.kind = Kind::files};
  const Words words = option.values ? option.values(typed) : Words();
  if (words.empty()) return {};
  if (!is_list(option.argument)) return words_of(words, typed);
  const std::size_t comma = typed.rfind(',');
  const std::size_t part = comma == typed.npos ? 0 : comma + 1;
  const std::string before = typed.substr(0, part);
  Completion completion{.kind = Kind::list};
  for (const std::string& word : words) {
    // Each word is offered once.
    if (!word.starts_with(std::string_view(typed).substr(part))) continue;
    if (("," + before).find("," + word + ",") == before.npos) {
      completion.words.push_back({before + word});
    }
  }
  return completion;
}

void add_names(Completion& completion, const std::vector<Offered>& options,
               std::string_view typed) {
  completion.kind = Kind::words;
  for (const Offered& option : options) {
    for (const std::string& name : option.names) {
      // Single-letter options are offered only after "-".
      if (!name.starts_with(typed) || (name.size() == 2 && typed != "-")) continue;
      completion.words.push_back({name, option.help});
    }
  }
}

const Offered* find(const std::vector<Offered>& options, std::string_view name) {
  const auto found = std::ranges::find_if(options, [&](const Offered& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

// The options in `word` that take a value: the option itself, or those of its letters.
std::vector<const Offered*> taking(const std::vector<Offered>& options, const std::string& word) {
  std::vector<const Offered*> found;
  const auto add = [&](const std::string& name) {
    const Offered* option = find(options, name);
    if (option && !option->argument.empty()) found.push_back(option);
  };
  if (word.starts_with("--")) {
    if (word.find('=') == word.npos) add(word);
  } else {
    for (const char letter : word.substr(1)) add(std::string("-") + letter);
  }
  return found;
}

// Walks over the words like the parser.
class Line {
 public:
  Line(const Words& words, const std::vector<Offered>& options)
      : words_(words), options_(options) {}

  // Completes the last word as an option or an option's value. Returns nullopt if it is neither.
  std::optional<Completion> option(bool stop_at_program) {
    const std::size_t last = words_.size() - 1;
    for (at_ = 0; at_ < last;) {
      const std::string& word = words_[at_];
      if (word == "--" || !word.starts_with('-') || word == "-") {
        if (word == "--" && ++at_ == last) return {};
        if (stop_at_program) return Completion{.kind = Kind::arguments, .program = at_};
        ++at_;
        ++others_;
        continue;
      }
      ++at_;
      for (const Offered* option : taking(options_, word)) {
        const std::string& value = words_[at_];
        if (value.starts_with('-') && !option->minus_values) continue;
        if (at_ == last) return value_of(*option, value);
        ++at_;
      }
    }
    const std::string& typed = words_[last];
    if (typed.starts_with("--") && typed.find('=') != typed.npos) {
      const std::size_t equals = typed.find('=');
      const Offered* option = find(options_, typed.substr(0, equals));
      if (!option || option->argument.empty()) return Completion();
      Completion completion = value_of(*option, typed.substr(equals + 1));
      for (Completion::Word& word : completion.words) word.text.insert(0, typed, 0, equals + 1);
      return completion;
    }
    if (!typed.starts_with('-')) return {};
    Completion completion;
    add_names(completion, options_, typed);
    return completion;
  }

  // The number of words before the last that are neither options nor their values; valid after
  // option().
  std::size_t others() const { return others_; }

  bool has(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(words_.begin(), words_.end() - 1, [&](const std::string& word) {
      return std::ranges::find(names, std::string_view(word).substr(0, word.find('='))) !=
             names.end();
    });
  }

 private:
  const Words& words_;
  const std::vector<Offered>& options_;
  std::size_t at_ = 0;
  std::size_t others_ = 0;
};

Completion main_command(const Words& words) {
  const std::vector<Offered> options = main_options();
  Line line(words, options);
  if (auto completion = line.option(true)) return *completion;
  const std::string& typed = words.back();
  // No program is run with these.
  if (line.has({"-i", "--import-profile", "--query-metrics", "--query-events"})) {
    Completion completion;
    if (typed.empty()) add_names(completion, options, "--");
    return completion;
  }
  Completion completion{.kind = Kind::program};
  if (words.size() == 1) {
    for (const Subcommand* command : subcommands()) {
      if (command->help.empty() || !command->name.starts_with(typed)) continue;
      completion.words.push_back({std::string(command->name), std::string(command->help)});
    }
  }
  return completion;
}

Completion subcommand(const Subcommand& command, const Words& words) {
  Grammar grammar;
  const std::function<int()> run = command.declare(grammar);  // owns the declared targets
  std::vector<Offered> options{{.names = {"-h", "--help"}, .help = "Print this help"}};
  std::vector<Offered> positionals;  // in order; the last one also covers any further words
  for (const Grammar::Taken& taken : grammar.taken()) {
    if (const auto* shared = std::get_if<Grammar::Shared>(&taken)) {
      if (shared->option->status == Status::works) options.push_back(offered(*shared->option));
      continue;
    }
    const auto& argument = std::get<Argument>(taken);
    (argument.is_word() ? positionals : options).push_back(offered(command, argument));
  }
  Line line(words, options);
  if (auto completion = line.option(false)) return *completion;
  if (positionals.empty()) return {};
  return value_of(positionals[std::min(line.others(), positionals.size() - 1)], words.back());
}

}  // namespace

Completion complete(const Words& words) {
  if (words.empty()) return {};
  const Subcommand* command = words.size() > 1 ? find_subcommand(words[0]) : nullptr;
  if (!command) return main_command(words);
  return subcommand(*command, {words.begin() + 1, words.end()});
}

ShellWords shell_words(std::string_view line, std::string_view breaks) {
  ShellWords result;
  std::size_t pieces = 0;
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    std::string word;
    char quote = 0;
    std::size_t break_end = 0;
    bool was_break = false;
    result.places.push_back(pieces++);
    for (; at < line.size() && (quote || (line[at] != ' ' && line[at] != '\t')); ++at) {
      const char c = line[at];
      if (c == quote) {
        quote = 0;
      } else if (!quote && (c == '\'' || c == '"')) {
        quote = c;
      } else {
        const bool escaped = c == '\\' && quote != '\'' && at + 1 < line.size();
        const bool breaks_here = !quote && !escaped && breaks.find(c) != breaks.npos;
        if (!word.empty() && breaks_here != was_break) ++pieces;
        was_break = breaks_here;
        word += escaped ? line[++at] : c;
        if (breaks_here) break_end = word.size();
      }
    }
    result.before = word.substr(0, break_end);
    result.words.push_back(std::move(word));
    if (at == line.size()) return result;
  }
}

}  // namespace gpuprof::app
