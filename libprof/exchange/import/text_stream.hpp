// A JSON file, compressed or not, as a stream that is read once and mended along the way
// (libprof/exchange/import/mended_json.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <string>

namespace gpuprof::importing {

class TextStream {
 public:
  // `block` is called repeatedly while reading, with the percentage of the file: a small file may
  // unpack to a text that takes hours. Exceptions from it are passed on. Throws Error if the file
  // does not exist or cannot be opened.
  explicit TextStream(const std::string& path, std::function<void(int percent)> block = {});
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  std::istream& stream() { return stream_; }
  // Why it ended early; empty: it did not.
  const std::string& problem() const;
  // A remark about a file that was nonetheless read; may be empty.
  const std::string& note() const;
  // Number of strings that were not UTF-8.
  std::uint64_t mended_texts() const;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::istream stream_;
};

}  // namespace gpuprof::importing
