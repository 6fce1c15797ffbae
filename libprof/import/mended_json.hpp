// JSON as programs write it, made into what a parser takes.
//
// Python writes NaN and Infinity, and names in traces are not always UTF-8. One such value is no
// reason to refuse a file: what JSON has no word for becomes an empty text, which is no number, and
// bytes of a text that are no characters become question marks. Nothing changes its length, so that
// places in the text stay what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuprof::importing {

class JsonMender {
 public:
  // What a parser keeps whole, a word or a quoted text: its memory would go by it.
  static constexpr std::size_t longest_word = std::size_t{16} << 20;

  // Mends the text in its place. How much of it, from its front, is done: the rest is to come
  // again with what follows it. `last`: nothing follows, and all is done.
  std::size_t mend(std::span<char> text, bool last);

  // Quoted texts that were not UTF-8.
  std::uint64_t texts() const { return texts_; }
  bool too_long() const { return too_long_; }

 private:
  std::size_t quoted(std::span<char> text, bool last);
  std::size_t bare(std::span<char> text, bool last);
  void replace(std::span<char> bytes, std::string_view by);
  void count(std::size_t bytes) {
    length_ += bytes;
    too_long_ |= length_ > longest_word;
  }

  bool quoted_ = false;   // in a quoted text
  bool word_ = false;     // in a word that is too long to be looked at
  bool counted_ = false;  // this text is in texts_
  bool too_long_ = false;
  std::size_t length_ = 0;  // of the word or text so far
  std::uint64_t texts_ = 0;
};

}  // namespace gpuprof::importing
