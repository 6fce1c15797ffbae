// Commands that print information about gpuprof. The hidden ones are for the build.
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "apps/gpuprof/option/option_table.hpp"

namespace gpuprof::app {

extern const Subcommand help_command{
    .name = "help",
    .usage = "[TOPIC]",
    .help = "The same as --help TOPIC",
    .rare = true,
    .declare = [](Grammar& grammar) -> std::function<int()> {
      auto topic = std::make_shared<std::string>();
      grammar.take("topic", topic.get(), "A group, a word of options' names, a command, or all");
      return [topic] { return print_help(*topic); };
    },
    .values =
        [](std::string_view) {
          std::vector<std::string> topics = find_option("help")->values({});
          for (const Subcommand* command : subcommands()) {
            if (!command->help.empty()) topics.emplace_back(command->name);
          }
          return topics;
        },
};

extern const Subcommand man_command{
    .name = "man",
    .declare = prints<man_page>,
};

extern const Subcommand completion_command{
    .name = "completion",
    .usage = "SHELL",
    .help = "Print the completion for bash, zsh or fish",
    .rare = true,
    .declare = [](Grammar& grammar) -> std::function<int()> {
      auto shell = std::make_shared<std::string>();
      grammar.take({.name = "shell",
                    .to = shell.get(),
                    .help = "The shell",
                    .required = true,
                    .choices = {"bash", "zsh", "fish"}});
      return [shell] {
        std::cout << completion(*shell);
        return 0;
      };
    },
};

// The request of the completion scripts: the shell, then the words, none of which is an option
// here.
extern const Subcommand complete_command{
    .name = "complete",
    .declare = [](Grammar& grammar) -> std::function<int()> {
      auto words = std::make_shared<std::vector<std::string>>();
      grammar.take_all(*words);
      return [words] {
        if (words->size() < 2) return 0;
        print_completion(words->front(), {words->begin() + 1, words->end()});
        return 0;
      };
    },
};

extern const Subcommand options_command{
    .name = "options",
    .declare = prints<options_markdown>,
};

extern const Subcommand exit_codes_command{
    .name = "exit-codes",
    .declare = prints<exit_codes_markdown>,
};

}  // namespace gpuprof::app
