// A file of JSON, deflated or not, as a stream that is read once, and mended on its way
// (libprof/import/mended_json.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <string>

namespace gpuprof::importing {

class TextStream {
 public:
  // `block` is called again and again while it is read, with how many percent of the file that
  // was: a little file may unpack to a text that takes hours. What it throws comes through. Throws
  // Error: there is no such file, or it cannot be opened.
  explicit TextStream(const std::string& path, std::function<void(int percent)> block = {});
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  std::istream& stream() { return stream_; }
  // Why it ended before its end; empty: it did not.
  const std::string& problem() const;
  // What is to be said of it all the same.
  const std::string& note() const;
  // Quoted texts that were not UTF-8.
  std::uint64_t mended_texts() const;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::istream stream_;
};

}  // namespace gpuprof::importing
