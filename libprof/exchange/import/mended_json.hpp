// Turns JSON as programs write it into what a parser accepts.
//
// Python writes NaN and Infinity, and names in traces are not always UTF-8. One such value is no
// reason to reject a file: numbers that JSON cannot represent become an empty string, which is not
// a number, and invalid bytes in a string become question marks. Lengths never change, so positions
// in the text stay the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuprof::importing {

class JsonMender {
 public:
  // Limit on a word or string, which a parser keeps whole: its memory would grow with it.
  static constexpr std::size_t longest_word = std::size_t{16} << 20;

  // Mends the text in place. Returns how much of it, from the front, is done: pass the rest again
  // with what follows it. `last`: nothing follows, and everything is done.
  std::size_t mend(std::span<char> text, bool last);

  // Number of strings that were not UTF-8.
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

  bool quoted_ = false;   // in a string
  bool word_ = false;     // in a word too long to be checked
  bool counted_ = false;  // this string is already in texts_
  bool too_long_ = false;
  std::size_t length_ = 0;  // of the word or string so far
  std::uint64_t texts_ = 0;
};

}  // namespace gpuprof::importing
