// Commands that print what gpuprof tells about itself. The hidden ones are for the build.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help.hpp"

namespace gpuprof::app {

const Subcommand help_command{
    .name = "help",
    .usage = "[TOPIC]",
    .help = "The same as --help TOPIC",
    .declare = [](CLI::App& app) -> std::function<int()> {
      auto topic = std::make_shared<std::string>();
      app.add_option("topic", *topic, "A group, a word of options' names, a command, or all");
      return [topic] { return print_help(*topic); };
    },
};

const Subcommand man_command{
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

const Subcommand completion_command{
    .name = "completion",
    .usage = "SHELL",
    .help = "",
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
};

const Subcommand options_command{
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

const Subcommand exit_codes_command{
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
