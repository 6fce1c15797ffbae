// What may stand where a word is being typed, for the completion of shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::app {

struct Completion {
  enum class Kind {
    nothing,    // that can be known
    words,      // one of `words`
    list,       // the same, and more may follow without a space: a comma, a roll-up
    files,      // any file
    program,    // a program, or one of `words`
    arguments,  // those of the program at `program`
  };
  struct Word {
    std::string text;
    std::string help = {};  // a line
  };

  Kind kind = Kind::nothing;
  std::vector<Word> words = {};  // all begin with the word that is typed
  std::size_t program = 0;       // its place among the words
};

// `words` are those behind "gpuprof"; the last is the one that is typed, and may be empty.
Completion complete(const std::vector<std::string>& words);

// The words of a line that ends where one is typed, as a shell takes them apart; and which of the
// shell's own words each one begins, which breaks them at these characters too ('=' and ':' of
// bash's COMP_WORDBREAKS).
struct ShellWords {
  std::vector<std::string> words;
  std::vector<std::size_t> places;
  // What of the last word the shell takes for a word of its own and leaves as it is.
  std::string before;
};
ShellWords shell_words(std::string_view line, std::string_view breaks);

// Names for the last part of what is typed behind --metrics: nvprof's, and CUPTI's of all chips
// once there are three letters; behind a dot with what may stand there. Needs no driver.
std::vector<std::string> metric_names(std::string_view typed);
std::vector<std::string> event_names(std::string_view typed);

}  // namespace gpuprof::app
