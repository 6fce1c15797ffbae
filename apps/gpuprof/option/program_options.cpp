// Options of gpuprof itself.
#include "apps/gpuprof/option/setters.hpp"

namespace gpuprof::app {
namespace {

std::vector<std::string> topics(std::string_view) {
  std::vector<std::string> words{"all"};
  for (const OptionGroupInfo& group : option_groups()) words.emplace_back(group.name);
  return words;
}

}  // namespace

std::vector<Option> program_options() {
  return {
      {.name = "config",
       .argument = "FILE",
       .help = "Take defaults from this file\n"
               "Else from $XDG_CONFIG_HOME/gpuprof/config.toml or ~/.config/gpuprof/config.toml: "
               "lines such as trace = \"+queries\" or quiet = true, with the options of \"What to "
               "collect\" and others that say how and not what. The environment goes before the "
               "file (GPUPROF_TRACE=+queries), and what is on the command line before both.",
       .is = ours,
       .set = text([](Options& o) -> std::string& { return o.config.file; })},
      {.name = "no-config",
       .help = "Take no defaults from a file or from the environment",
       .is = ours,
       .set = flag([](Options& o) { o.config.none = true; })},
      {.name = "help",
       .letter = 'h',
       .argument = "[TOPIC]",
       .help = "This help; of a group, of options that match a word, or all",
       .is = common,
       .values = topics},
      {.name = "version",
       .letter = 'V',
       .help = "Print the version",
       .is = common,
       .set = flag([](Options& o) { o.action = Action::version; })},
  };
}

}  // namespace gpuprof::app
