#include "apps/gpuprof/help/help.hpp"

#include <algorithm>
#include <iostream>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/option_table.hpp"
#include "gpuprof_version.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

constexpr std::size_t width = 96;
constexpr std::size_t help_column = 34;

constexpr char introduction[] =
    R"(gpuprof runs CUDA programs, records what they do on the GPU into SQLite files, and prints
nvprof's reports of them.

  gpuprof [options] PROGRAM [arguments]        profile a program
  gpuprof -i FILE [options]                    print reports of a stored run
  gpuprof COMMAND ...                          what else there is, see below

Examples
  gpuprof ./vector_add                         run it and print a summary
  gpuprof -o run.sqlite python train.py        record into run.sqlite while it runs
  gpuprof -i run.sqlite                        the summary of that run
  gpuprof -i run.sqlite --print-gpu-trace      each kernel and copy of it
  gpuprof -i run.sqlite --print-gpu-summary --kernels gemm --top 5
                                               its five slowest kernels with gemm in their names
)";

// Wraps `text` at column `indent`; the first line continues the current line.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out, line;
  const auto end_line = [&] {
    out += (out.empty() ? "" : std::string(indent, ' ')) + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view paragraph = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (indent + paragraph.size() > width) {
      std::size_t space = paragraph.rfind(' ', width - indent);
      if (space == paragraph.npos || space == 0) break;
      line = paragraph.substr(0, space);
      end_line();
      paragraph.remove_prefix(space + 1);
    }
    line = paragraph;
    end_line();
  }
  return out;
}

std::string entry(const std::string& left, const std::string& text) {
  std::string line = "  " + left;
  line += line.size() + 2 > help_column ? "\n" + std::string(help_column, ' ')
                                        : std::string(help_column - line.size(), ' ');
  return line + wrapped(text, help_column);
}

std::string left_of(const Option& option) {
  std::string left = option.letter ? std::string("-") + option.letter + "," : "";
  left += "--" + option.name;
  if (!option.optional.empty()) left += "[=" + option.optional + "]";
  return option.argument.empty() ? left : left + " " + option.argument;
}

std::string short_entry(const Option& option) {
  return entry(left_of(option), std::string(first_line(option.help)));
}

std::string long_entry(const Option& option) {
  return entry(left_of(option),
               option.help + (option.why.empty() ? "" : "\n(" + remark(option) + ")"));
}

std::string heading(const OptionGroupInfo& group) { return "\n" + std::string(group.title) + "\n"; }

std::string commands_help(bool all) {
  std::string help = "\nCommands\n";
  std::vector<std::string_view> rare;
  for (const Subcommand* command : subcommands()) {
    if (command->help.empty()) continue;
    if (command->rare && !all) {
      rare.push_back(command->name);
      continue;
    }
    help += entry(std::string(command->name) + " " + std::string(command->usage),
                  std::string(command->help));
  }
  return rare.empty() ? help : help + "  " + wrapped("Rarer ones: " + joined(rare, ", "), 2);
}

std::string short_help() {
  std::string help = introduction;
  for (const OptionGroupInfo& group : option_groups()) {
    std::string entries;
    for (const Option& option : option_table()) {
      if (option.group == group.group && (option.is & common)) entries += short_entry(option);
    }
    if (!entries.empty()) help += heading(group) + entries;
  }
  return help + commands_help(false) + "\n" +
         wrapped("More options: gpuprof --help GROUP, with one of " +
                     joined(option_groups(), ", ", &OptionGroupInfo::name) +
                     "; gpuprof --help WORD for options with that word in their names; gpuprof "
                     "--help all; man gpuprof.",
                 0);
}

std::string group_help(const OptionGroupInfo& group) {
  std::string help = heading(group);
  for (const Option& option : option_table()) {
    if (option.group == group.group && option.status != Status::not_yet) help += long_entry(option);
  }
  return help;
}

// nvprof's options that are accepted but not implemented; only --help all and --help NAME show
// them.
std::string not_yet() {
  std::string names;
  for (const Option& option : option_table()) {
    if (option.status == Status::not_yet) names += (names.empty() ? "--" : ", --") + option.name;
  }
  return names.empty() ? "" : "\nNot yet in this version\n  " + wrapped(names, 2);
}

std::string full_help() {
  std::string help = introduction;
  for (const OptionGroupInfo& group : option_groups()) help += group_help(group);
  help += not_yet() + commands_help(true) +
          "\nExit codes: the program's own, 128 + the signal that ended it, or\n";
  for (const ExitCodeInfo& code : exit_codes) {
    const std::string number = std::to_string(code.number());
    help += "  " + std::string(3 - number.size(), ' ') + number + "  " + wrapped(code.meaning, 7);
  }
  return help;
}

std::string topic_help(std::string topic) {
  if (topic == "all") return full_help();
  for (const OptionGroupInfo& group : option_groups()) {
    if (group.name == topic) return group_help(group).substr(1);
  }
  topic.erase(0, topic.find_first_not_of('-'));
  const Option* exact = topic.size() == 1 ? find_option(topic[0]) : find_option(topic);
  if (exact) return long_entry(*exact);
  std::string help;
  for (const Option& option : option_table()) {
    if (option.status == Status::not_yet) continue;
    if (option.name.find(topic) != option.name.npos) help += long_entry(option);
  }
  return help;
}

}  // namespace

int print_help(const std::string& topic) {
  if (const Subcommand* command = find_subcommand(topic))
    return run_subcommand(*command, {"--help"});
  const std::string help = topic.empty() ? short_help() : topic_help(topic);
  if (help.empty()) {
    throw Error("the help has nothing on \"" + topic + "\"", "gpuprof --help lists its groups",
                ExitCode::bad_option);
  }
  std::cout << help;
  return 0;
}

int print_version() {
  std::cout << "gpuprof " << version << "\n";
  const std::string_view commit = version_commit;
  std::cout << "commit " << (commit.empty() ? "not known" : commit) << ", " << build_type
            << " build, " << compiler << "\n";
  std::cout << (cupti_headers.empty() ? "without CUPTI: it prints reports and cannot record"
                                      : "records CUPTI 12.6 to " + std::string(cupti_headers))
            << "\n";
  return 0;
}

std::string exit_codes_markdown() {
  std::string table = "| code | meaning |\n|---|---|\n";
  for (const ExitCodeInfo& code : exit_codes) {
    table += "| " + std::to_string(code.number()) + " | " + std::string(code.meaning) + " |\n";
  }
  return table;
}

std::string options_markdown() {
  std::string own;
  std::string theirs =
      "| nvprof's option | in gpuprof | |\n"
      "|---|---|---|\n";
  for (const Option& option : option_table()) {
    std::string name = "--" + option.name;
    if (option.letter) name = std::string("-") + option.letter + ", " + name;
    if (!option.optional.empty()) name += "[=" + option.optional + "]";
    if (!option.argument.empty()) name += " " + option.argument;
    for (std::size_t at = 0; (at = name.find('|', at)) != name.npos; at += 2) {
      name.insert(at, "\\");
    }
    name = "`" + name + "`";
    std::string text(first_line(option.help));
    if (option.is & ours) {
      own += "| " + name + " | " + text + " |\n";
      continue;
    }
    const char* status = option.status == Status::works       ? "works"
                         : option.status == Status::no_effect ? "accepted"
                         : option.status == Status::not_yet   ? "not yet"
                                                              : "replaced";
    if (!option.why.empty()) text += ": " + option.why;
    theirs += "| " + name + " | " + status + " | " + text + " |\n";
  }
  return theirs + "\n| gpuprof's own option | |\n|---|---|\n" + own;
}

}  // namespace gpuprof::app
