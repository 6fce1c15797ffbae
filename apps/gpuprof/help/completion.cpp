// Shell completion. "gpuprof complete" (help/complete.cpp) determines the completions; the scripts
// only call it. It answers with a line for the kind, then one line per word, with its help after a
// tab.
#include <iostream>

#include "apps/gpuprof/help/complete.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {
namespace {

// The scripts call the gpuprof in PATH, and the typed program only if there is none: completion
// must not start a program just because the current folder contains it.
constexpr std::string_view bash =
    R"(# Completion of gpuprof for bash, made by "gpuprof completion bash".
_gpuprof() {
  local program=gpuprof kind= at= word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  type -P gpuprof >/dev/null || program=${COMP_WORDS[0]/#\~/$HOME}
  {
    read -r kind at
    mapfile -t COMPREPLY
  } < <("$program" complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  case $kind in
  words | nothing) compopt +o default ;;
  list) compopt +o default -o nospace ;;
  program)
    compopt -o filenames
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$word")
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
    ;;
  arguments)
    if declare -F _comp_command_offset >/dev/null; then
      _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
      _command_offset "$at"
    fi
    ;;
  esac
}
complete -o default -F _gpuprof gpuprof
)";

constexpr std::string_view zsh = R"(#compdef gpuprof
# Completion of gpuprof for zsh, made by "gpuprof completion zsh".
_gpuprof() {
  local program=gpuprof kind line
  local -a answer texts shown
  (( $+commands[gpuprof] )) || program=${(Q)words[1]}
  answer=("${(@f)$("$program" complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  kind=${answer[1]}
  shift answer
  for line in $answer; do
    texts+=("${line%%$'\t'*}")
    shown+=("${${line/$'\t'/  -- }% -- }")
  done
  case $kind in
  words) compadd -l -d shown -a texts ;;
  list) compadd -S '' -a texts ;;
  files) compset -P '--*='; _files ;;
  program)
    (( $#texts )) && compadd -l -d shown -a texts
    _alternative 'programs:program:_command_names -e' 'files:file:_files'
    ;;
  arguments\ *)
    shift $(( ${kind#* } )) words
    (( CURRENT -= ${kind#* } ))
    _normal
    ;;
  esac
}
if [[ $funcstack[1] == _gpuprof ]]; then
  _gpuprof "$@"
else
  compdef _gpuprof gpuprof
fi
)";

constexpr std::string_view fish =
    R"(# Completion of gpuprof for fish, made by "gpuprof completion fish".
function __gpuprof_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program gpuprof
    command -q gpuprof; or set program $words[1]
    set -l answer ($program complete fish $words[2..-1] "$typed" 2>/dev/null)
    set -l kind (string split ' ' -- $answer[1])
    for line in $answer[2..-1]
        echo -- $line
    end
    switch "$kind[1]"
        case files
            set -l before (string match -r -- '^--[^=]*=' $typed)
            for file in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $typed))
                echo -- "$before"$file
            end
        case program
            __fish_complete_command
        case arguments
            set -l program_words (string escape -- $words[(math $kind[2] + 1)..-1])
            complete -C (string join ' ' -- $program_words "$typed")
    end
end
complete -c gpuprof -f -a '(__gpuprof_complete)'
)";

std::string_view name(Completion::Kind kind) {
  using enum Completion::Kind;
  switch (kind) {
    case nothing: return "nothing";
    case words: return "words";
    case list: return "list";
    case files: return "files";
    case program: return "program";
    case arguments: return "arguments";
  }
  return {};
}

}  // namespace

std::string_view completion(std::string_view shell) {
  return shell == "bash" ? bash : shell == "zsh" ? zsh : fish;
}

void print_completion(std::string_view shell, std::vector<std::string> words) {
  ShellWords taken;
  if (shell == "bash") {
    // Bash passes its COMP_WORDBREAKS, and the line up to the cursor, including the program.
    if (words.size() != 2) return;
    taken = shell_words(words[1], words[0]);
    words.assign(taken.words.begin() + 1, taken.words.end());
  }
  const Completion found = complete(words);
  std::cout << name(found.kind);
  if (found.kind == Completion::Kind::arguments) {
    const std::size_t place = found.program + 1;
    std::cout << " " << (shell == "bash" ? taken.places.at(place) : place);
  }
  std::cout << "\n";
  for (const Completion::Word& word : found.words) {
    if (!word.text.starts_with(taken.before)) continue;
    std::cout << word.text.substr(taken.before.size());
    if (shell != "bash" && !word.help.empty()) std::cout << "\t" << word.help;
    std::cout << "\n";
  }
}

}  // namespace gpuprof::app
