// What can follow at the word being typed, for shell completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::app {

struct Completion {
  enum class Kind {
    nothing,    // unknown
    words,      // one of `words`
    list,       // the same, but more may follow without a space: a comma, a roll-up
    files,      // any file
    program,    // a program, or one of `words`
    arguments,  // arguments of the program at index `program`
  };
  struct Word {
    std::string text;
    std::string help = {};  // one line
  };

  Kind kind = Kind::nothing;
  std::vector<Word> words = {};  // all begin with the typed word
  std::size_t program = 0;       // its index among the words
};

// `words` are those after "gpuprof"; the last one is being typed and may be empty.
Completion complete(const std::vector<std::string>& words);

// Splits a line that ends at the word being typed as a shell does. `places` has the index of the
// shell word that each one begins, since the shell also splits at these characters ('=' and ':' in
// bash's COMP_WORDBREAKS).
struct ShellWords {
  std::vector<std::string> words;
  std::vector<std::size_t> places;
  // The part of the last word that the shell treats as a separate word and leaves unchanged.
  std::string before;
};
ShellWords shell_words(std::string_view line, std::string_view breaks);

// Completions for the last part of a --metrics list: nvprof's names, and CUPTI's for all chips from
// three letters on; after a dot, the possible suffixes. Needs no driver.
std::vector<std::string> metric_names(std::string_view typed);
std::vector<std::string> event_names(std::string_view typed);

}  // namespace gpuprof::app
