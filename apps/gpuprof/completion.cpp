// Completions for shells: options, their values, commands; behind the program's name, what the
// program itself completes.
#include <algorithm>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help.hpp"
#include "apps/gpuprof/option_table.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {
namespace {

bool takes_file(const Option& option) {
  return option.argument == "FILE" || option.argument == "PATH";
}

// The values to offer: choices, groups of --trace, topics of --help.
std::vector<std::string> values(const Option& option) {
  std::vector<std::string> words = choices(option);
  if (option.name == "trace") {
    for (const schema::GroupInfo& group : schema::groups) {
      if (!group.name.empty()) words.emplace_back(group.name);
    }
    words.emplace_back("all");
  }
  if (option.name == "help") {
    for (const OptionGroupInfo& group : option_groups()) words.emplace_back(group.name);
    words.emplace_back("all");
  }
  return words;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : between).append(word);
  }
  return text;
}

// "-o" and "--export-profile".
std::vector<std::string> names(const Option& option) {
  std::vector<std::string> names;
  if (option.letter) names.push_back(std::string("-") + option.letter);
  names.push_back("--" + option.name);
  return names;
}

// The options whose next word is no program.
std::vector<std::string> taking_values() {
  std::vector<std::string> all;
  for (const Option& option : option_table()) {
    if (option.argument.empty() || option.name == "help") continue;
    for (std::string& name : names(option)) all.push_back(std::move(name));
  }
  return all;
}

std::vector<std::string> all_commands() {
  std::vector<std::string> names;
  for (const Subcommand* command : subcommands()) {
    if (!command->help.empty()) names.emplace_back(command->name);
  }
  return names;
}

std::string replaced_all(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string bash() {
  std::vector<std::string> all, files;
  std::string cases;
  for (const Option& option : option_table()) {
    const std::vector<std::string> spelled = names(option);
    all.insert(all.end(), spelled.begin(), spelled.end());
    if (option.argument.empty()) continue;
    if (takes_file(option)) files.insert(files.end(), spelled.begin(), spelled.end());
    if (const auto words = values(option); !words.empty()) {
      cases += "    " + joined(spelled, "|") + ") COMPREPLY=($(compgen -W '" + joined(words, " ") +
               "' -- \"$word\")); return ;;\n";
    }
  }
  std::string script = R"(# Completion of gpuprof for bash, made by "gpuprof completion bash".
_gpuprof() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case ${COMP_WORDS[at]} in
    @TAKING@) ((at++)) ;;
    -*) ;;
    *) # The program: what follows is its own.
      if [[ $at == 1 && " @COMMANDS@ " == *" ${COMP_WORDS[1]} "* ]]; then break; fi
      if declare -F _command_offset >/dev/null; then
        _command_offset "$at"
      else
        COMPREPLY=($(compgen -f -- "$word"))
      fi
      return ;;
    esac
  done
  case $before in
@CASES@    @FILES@)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "$word"))
      return ;;
    @TAKING@) return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W '@ALL@' -- "$word"))
  elif ((at < COMP_CWORD)); then
    compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word"))
  else
    compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word"))
    if ((COMP_CWORD == 1)); then COMPREPLY+=($(compgen -W '@COMMANDS@' -- "$word")); fi
  fi
}
complete -F _gpuprof gpuprof
)";
  script = replaced_all(script, "@TAKING@", joined(taking_values(), "|"));
  script = replaced_all(script, "@FILES@", joined(files, "|"));
  script = replaced_all(script, "@COMMANDS@", joined(all_commands(), " "));
  script = replaced_all(script, "@ALL@", joined(all, " "));
  return replaced_all(script, "@CASES@", cases);
}

std::string zsh() {
  // In a specification these end parts of it.
  const auto quoted = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\'') {
        out += "'\\''";
        continue;
      }
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::string script =
      "#compdef gpuprof\n"
      "# Completion of gpuprof for zsh, made by \"gpuprof completion zsh\".\n"
      "_gpuprof_program() {\n"
      "  local -a words=(";
  for (const Subcommand* command : subcommands()) {
    if (command->help.empty()) continue;
    script += "\n    '" + std::string(command->name) + ":" + quoted(command->help) + "'";
  }
  script +=
      ")\n"
      "  ((CURRENT == 2)) && _describe command words\n"
      "  _alternative 'programs:program:_command_names -e' 'files:file:_files'\n"
      "}\n"
      "_arguments -S";
  for (const Option& option : option_table()) {
    std::string end = "[" + quoted(first_line(option.help)) + "]";
    if (option.name == "help") {
      end += "::topic:(" + joined(values(option), " ") + ")";
    } else if (!option.argument.empty()) {
      const auto words = values(option);
      end += ":" + (words.empty() ? quoted(option.argument) : option.name) + ":";
      if (takes_file(option)) end += "_files";
      if (!words.empty()) end += "(" + joined(words, " ") + ")";
    }
    for (const std::string& name : names(option)) {
      script += " \\\n  '(" + joined(names(option), " ") + ")" + name + end + "'";
    }
  }
  return script + " \\\n  '(-)1:program:_gpuprof_program' \\\n  '*::arguments: _normal'\n";
}

std::string fish() {
  const auto quoted = [](std::string_view text) {
    return "'" + replaced_all(replaced_all(std::string(text), "\\", "\\\\"), "'", "\\'") + "'";
  };
  const std::string taking = joined(taking_values(), " ");
  std::string script = R"(# Completion of gpuprof for fish, made by "gpuprof completion fish".
function __gpuprof_has_program
  set -l words (commandline -opc)
  set -l value 0
  for word in $words[2..-1]
    if test $value = 1
      set value 0
      continue
    end
    switch $word
      case )" + taking +
                       R"(
        set value 1
      case '-*'
      case '*'
        return 0
    end
  end
  return 1
end
complete -c gpuprof -x -a '(__fish_complete_subcommand )" +
                       taking + R"()'
)";
  for (const Subcommand* command : subcommands()) {
    if (command->help.empty()) continue;
    script += "complete -c gpuprof -n 'not __gpuprof_has_program' -a " +
              std::string(command->name) + " -d " + quoted(command->help) + "\n";
  }
  for (const Option& option : option_table()) {
    script += "complete -c gpuprof -n 'not __gpuprof_has_program'";
    if (option.letter) script += std::string(" -s ") + option.letter;
    script += " -l " + option.name;
    if (!option.argument.empty() && option.name != "help") {
      const auto words = values(option);
      script += takes_file(option) ? " -r -F" : " -x";
      if (!words.empty()) script += " -a " + quoted(joined(words, " "));
    }
    script += " -d " + quoted(first_line(option.help)) + "\n";
  }
  return script;
}

}  // namespace

std::string completion(std::string_view shell) {
  if (shell == "bash") return bash();
  return shell == "zsh" ? zsh() : fish();
}

}  // namespace gpuprof::app
