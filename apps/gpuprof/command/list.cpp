#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/presets.hpp"
#include "apps/gpuprof/option/table.hpp"

namespace gpuprof::app {

// In the order in which help shows them; those without a line of help are not shown.
#define GPUPROF_COMMANDS(X) \
  X(replay_command)         \
  X(info_command)           \
  X(query_command)          \
  X(slice_command)          \
  X(truncate_command)       \
  X(finish_command)         \
  X(export_command)         \
  X(schema_command)         \
  X(help_command)           \
  X(completion_command)     \
  X(complete_command)       \
  X(man_command)            \
  X(options_command)        \
  X(exit_codes_command)     \
  X(metric_map_command)

#define X(name) extern const Subcommand name;
GPUPROF_COMMANDS(X)
#undef X

namespace {

#define X(name) &name,
constexpr const Subcommand* commands[] = {GPUPROF_COMMANDS(X)};
#undef X

// An option of the table as one of CLI11's.
void add_option(CLI::App& app, Options& options, const Option& option) {
  std::string names = "--" + option.name;
  if (option.letter) names = std::string("-") + option.letter + "," + names;
  if (!option.alias.empty()) names += ",--" + option.alias;
  const std::string help = option.help.substr(0, option.help.find('\n'));
  if (!option.optional.empty()) {
    const auto given = std::make_shared<std::string>();
    app.add_flag(names, *given, help)->each([&options, &option, given](const std::string& value) {
      if (value != "true" && value != option.optional) {
        throw CLI::ValidationError("takes " + option.optional + " or nothing");
      }
      apply(option, value == "true" ? "" : value, options);
    });
    return;
  }
  if (option.argument.empty()) {
    app.add_flag_callback(
        names, [&options, &option] { apply(option, {}, options); }, help);
    return;
  }
  app.add_option_function<std::string>(
         names,
         [&options, &option](const std::string& value) {
           if (const auto refused = apply(option, value, options)) {
             throw CLI::ValidationError("--" + option.name, "takes " + refused->takes);
           }
         },
         help)
      ->option_text(option.argument);
}

void add_options(CLI::App& app, Options& options, const std::vector<const Option*>& chosen) {
  for (const Option* option : chosen) add_option(app, options, *option);
  for (const char* name : {"config", "no-config"}) {
    if (!app.get_option_no_throw("--" + std::string(name))) {
      add_option(app, options, *find_option(name));
    }
  }
  app.parse_complete_callback([&app, &options] {
    for (const Preset& preset : read_presets(options.config)) {
      const CLI::Option* option = app.get_option_no_throw("--" + preset.option->name);
      if (option && option->count() == 0) apply(preset, options);
    }
    tell_misspelt_variables(options);
  });
}

}  // namespace

std::span<const Subcommand* const> subcommands() { return commands; }

const Subcommand* find_subcommand(std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Subcommand::name);
  return found == std::end(commands) ? nullptr : *found;
}

int run_subcommand(const Subcommand& command, const std::vector<std::string>& words) {
  const std::string name(command.name);
  CLI::App app{std::string(command.help), "gpuprof " + name};
  app.get_formatter()->column_width(34);
  const std::function<int()> run = command.declare(app);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw Error(error.what(), "see gpuprof " + name + " --help", ExitCode::bad_option);
  }
  return run();
}

void add_report_options(CLI::App& app, Options& options) {
  std::vector<const Option*> chosen;
  for (const Option& option : option_table()) {
    if (option.group == OptionGroup::reports || option.group == OptionGroup::format ||
        option.group == OptionGroup::filter) {
      chosen.push_back(&option);
    }
  }
  add_options(app, options, chosen);
}

void add_named_options(CLI::App& app, Options& options,
                       std::initializer_list<std::string_view> names) {
  std::vector<const Option*> chosen;
  for (const std::string_view name : names) chosen.push_back(find_option(name));
  add_options(app, options, chosen);
}

void add_output_options(CLI::App& app, Options& options) {
  add_named_options(
      app, options,
      {"export-profile", "force-overwrite", "umask", "no-indexes", "log-file", "quiet"});
}

}  // namespace gpuprof::app
