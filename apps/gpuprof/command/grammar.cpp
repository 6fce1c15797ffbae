#include "apps/gpuprof/command/grammar.hpp"

// Included only here: the header takes seconds to compile.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "apps/gpuprof/option/option_table.hpp"
#include "apps/gpuprof/option/presets.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

// Values that are parsed once all words have been read.
using Texts = std::vector<std::pair<const Argument*, std::unique_ptr<std::string>>>;

void declare(CLI::App& app, const Argument& argument, Texts& texts) {
  const std::string name(argument.name);
  const std::string help(argument.help);
  if (bool* const* flag = std::get_if<bool*>(&argument.to)) {
    app.add_flag(name, **flag, help);
    return;
  }
  CLI::Option* option;
  if (const auto* list = std::get_if<std::vector<std::string>*>(&argument.to)) {
    option = app.add_option(name, **list, help);
    if (argument.several) {
      option->expected(-1);  // one and more
    } else {
      option->delimiter(',')->expected(1)->take_all()->allow_extra_args(false);
    }
  } else if (std::string* const* value = std::get_if<std::string*>(&argument.to)) {
    option = app.add_option(name, **value, help);
  } else {
    texts.emplace_back(&argument, std::make_unique<std::string>());
    option = app.add_option(name, *texts.back().second, help);
  }
  if (!argument.placeholder.empty()) option->option_text(std::string(argument.placeholder));
  if (!argument.choices.empty()) option->check(CLI::IsMember(argument.choices));
  option->required(argument.required);
}

void declare(CLI::App& app, const Grammar::Shared& shared, Texts&) {
  const Option& option = *shared.option;
  Options& options = *shared.options;
  std::string names = "--" + option.name;
  if (option.letter) names = std::string("-") + option.letter + "," + names;
  if (!option.alias.empty()) names += ",--" + option.alias;
  const std::string help(first_line(option.help));
  if (!option.optional.empty()) {
    const auto given = std::make_shared<std::string>();
    app.add_flag(names, *given, help)->each([&options, &option, given](const std::string& value) {
      const bool none = value == "true";
      if (!none && !option.is_placeholder && value != option.optional) {
        throw CLI::ValidationError("takes " + option.optional + " or nothing");
      }
      if (const auto refused = apply(option, none ? "" : value, options)) {
        throw CLI::ValidationError("--" + option.name, "takes " + refused->takes);
      }
    });
  } else if (option.argument.empty()) {
    app.add_flag_callback(
        names, [&options, &option] { apply(option, {}, options); }, help);
  } else {
    app.add_option_function<std::string>(
           names,
           [&options, &option](const std::string& value) {
             if (const auto refused = apply(option, value, options)) {
               throw CLI::ValidationError("--" + option.name, "takes " + refused->takes);
             }
           },
           help)
        ->option_text(option.argument)
        ->required(shared.required);
  }
}

// "did you mean --json? ", for the first unknown option; empty if there is none, or no option is
// close.
std::string meant_instead(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (word == "--") break;
    if (!name.starts_with("--") || std::ranges::find(names, name) != names.end()) continue;
    const auto near = nearest(name, names);
    return near.empty() ? "" : "did you mean " + alternatives(near) + "? ";
  }
  return {};
}

// Applies the user's presets to options that the command line does not set.
void apply_presets(const CLI::App& app, Options& options) {
  for (const Preset& preset : read_presets(options.config)) {
    const CLI::Option* option = app.get_option_no_throw("--" + preset.option->name);
    if (option && option->count() == 0) apply(preset, options);
  }
  tell_misspelt_variables(options);
}

}  // namespace

report::Layout TableLayout::chosen() const {
  if (csv && json) throw Error("--csv and --json exclude one another", "", ExitCode::bad_option);
  return json ? report::Layout::json : csv ? report::Layout::plain_csv : report::Layout::text;
}

void Grammar::take_layout(TableLayout& layout) {
  take("--csv", &layout.csv, "Comma-separated values: one line of names, then a line for each row");
  take("--json", &layout.json, "One JSON document");
}

void Grammar::take_window(Options& options, std::string_view from_help, std::string_view to_help) {
  for (const auto& [name, help] :
       {std::pair<std::string_view, std::string_view>{"--from", from_help},
        {"--to", to_help},
        {"--nvtx", {}}}) {
    const Option& option = *find_option(name.substr(2));
    const auto store = [&options, &option](const std::string& value) {
      const auto refused = apply(option, value, options);
      const reading::Filter& filter = options.reports.filter;
      if (!refused && filter.from.ns && filter.to.ns && *filter.from.ns >= *filter.to.ns) {
        throw Error("--from is not before --to", "", ExitCode::bad_option);
      }
      return refused ? refused->takes : std::string();
    };
    take({.name = name,
          .to = store,
          .help = help.empty() ? first_line(option.help) : help,
          .placeholder = option.argument});
  }
}

void Grammar::take_options(Options& options, std::initializer_list<std::string_view> names) {
  std::vector<const Option*> chosen;
  for (const std::string_view name : names) chosen.push_back(find_option(name));
  take_shared(options, chosen);
}

void Grammar::take_report_options(Options& options) {
  std::vector<const Option*> chosen;
  for (const Option& option : option_table()) {
    if (option.group == OptionGroup::reports || option.group == OptionGroup::format ||
        option.group == OptionGroup::filter) {
      chosen.push_back(&option);
    }
  }
  take_shared(options, chosen);
}

Store time_to(std::optional<std::chrono::milliseconds>& time) {
  return [&time](const std::string& text) -> std::string {
    const auto given = time_of(text);
    if (given) time = given;
    return given ? "" : a_time;
  };
}

Store hang_after(std::int64_t& time) {
  return [&time](const std::string& text) -> std::string {
    const auto given = hang_time(text);
    if (given) time = *given;
    return given ? "" : a_hang_time;
  };
}

void Grammar::take_output_options(Options& options) {
  take_options(options, {"export-profile", "force-overwrite", "umask", "step", "no-indexes",
                         "log-file", "quiet"});
}

void Grammar::take_shared(Options& options, const std::vector<const Option*>& chosen) {
  const auto add = [&](const Option* option) {
    const bool there = std::ranges::any_of(taken_, [&](const Taken& taken) {
      const Shared* shared = std::get_if<Shared>(&taken);
      return shared && shared->option == option;
    });
    if (there) return;
    taken_.emplace_back(Shared{.option = option, .options = &options, .required = false});
  };
  for (const Option* option : chosen) add(option);
  for (const char* name : {"config", "no-config"}) add(find_option(name));
}

void Grammar::require(std::string_view name) {
  for (Taken& taken : taken_) {
    Shared* shared = std::get_if<Shared>(&taken);
    if (shared && shared->option->name == name) shared->required = true;
  }
}

std::optional<int> Grammar::parse(std::string_view name, std::string_view help,
                                  const std::vector<std::string>& words) const {
  if (all_) {
    *all_ = words;
    return {};
  }
  CLI::App app{std::string(help), "gpuprof " + std::string(name)};
  app.get_formatter()->column_width(34);
  app.footer(footer_);
  std::set<Options*> written;
  Texts texts;
  for (const Taken& taken : taken_) {
    std::visit([&](const auto& each) { declare(app, each, texts); }, taken);
    if (const Shared* shared = std::get_if<Shared>(&taken)) written.insert(shared->options);
  }
  app.parse_complete_callback([&] {
    for (Options* options : written) apply_presets(app, *options);
  });
  const auto dashes = after_dashes_ ? std::ranges::find(words, "--") : words.end();
  if (dashes != words.end()) after_dashes_->assign(dashes + 1, words.end());
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(dashes), words.rend()));
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const std::string meant = meant_instead(app, words);
    throw Error(error.what(), meant + "see gpuprof " + std::string(name) + " --help",
                ExitCode::bad_option);
  }
  for (const auto& [argument, text] : texts) {
    if (text->empty()) continue;
    const std::string takes = std::get<Store>(argument->to)(*text);
    if (takes.empty()) continue;
    throw Error(std::string(argument->name) + " takes " + takes, "", ExitCode::bad_option);
  }
  return {};
}

}  // namespace gpuprof::app
