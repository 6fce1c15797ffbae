// Commands that print what gpuprof tells about itself. The hidden ones are for the build.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "apps/gpuprof/option/table.hpp"

namespace gpuprof::app {

extern const Subcommand help_command{
    .name = "help",
    .usage = "[TOPIC]",
    .help = "The same as --help TOPIC",
    .declare = [](CLI::App& app) -> std::function<int()> {
      auto topic = std::make_shared<std::string>();
      app.add_option("topic", *topic, "A group, a word of options' names, a command, or all");
      return [topic] { return print_help(*topic); };
    },
    .values = [](std::string_view) { return find_option("help")->values({}); },
};

extern const Subcommand man_command{
    .name = "man",
    .usage = "",
    .help = "",
    .declare = [](CLI::App&) -> std::function<int()> {
      return [] {
        std::cout << man_page();
        return 0;
      };
    },
};

extern const Subcommand completion_command{
    .name = "completion",
    .usage = "SHELL",
    .help = "Print the completion for bash, zsh or fish",
    .declare = [](CLI::App& app) -> std::function<int()> {
      auto shell = std::make_shared<std::string>();
      app.add_option("shell", *shell, "The shell")
          ->required()
          ->check(CLI::IsMember({"bash", "zsh", "fish"}));
      return [shell] {
        std::cout << completion(*shell);
        return 0;
      };
    },
    .values = [](std::string_view) -> std::vector<std::string> {
      return {"bash", "zsh", "fish"};
    },
};

// What the scripts ask: the shell, then the words, none of which is an option of this command.
extern const Subcommand complete_command{
    .name = "complete",
    .usage = "",
    .help = "",
    .declare = [](CLI::App& app) -> std::function<int()> {
      app.set_help_flag();
      app.prefix_command();
      return [&app] {
        std::vector<std::string> words = app.remaining();
        if (words.size() < 2) return 0;
        const std::string shell = words.front();
        words.erase(words.begin());
        print_completion(shell, std::move(words));
        return 0;
      };
    },
};

extern const Subcommand options_command{
    .name = "options",
    .usage = "",
    .help = "",
    .declare = [](CLI::App&) -> std::function<int()> {
      return [] {
        std::cout << options_markdown();
        return 0;
      };
    },
};

extern const Subcommand exit_codes_command{
    .name = "exit-codes",
    .usage = "",
    .help = "",
    .declare = [](CLI::App&) -> std::function<int()> {
      return [] {
        std::cout << exit_codes_markdown();
        return 0;
      };
    },
};

}  // namespace gpuprof::app
