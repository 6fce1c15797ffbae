// A file of text, deflated or not, as a stream that is read once.
//
// What parsers keep of a text whole, a word or a quoted text of JSON, has a limit here: their
// memory would go by it.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof::importing {

class TextStream {
 public:
  static constexpr std::size_t longest_word = std::size_t{16} << 20;

  // Throws Error: there is no such file, or it cannot be opened.
  explicit TextStream(const std::string& path);
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  // The first bytes, unpacked. To be asked before the stream is read.
  std::string_view beginning();
  std::istream& stream() { return stream_; }
  // Why it ended before its end; empty: it did not.
  const std::string& problem() const;
  // Percent of the file that was read.
  int percent() const;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::istream stream_;
};

}  // namespace gpuprof::importing
