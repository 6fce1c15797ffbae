// The readable forms of strings, which take their time: they are asked for when a string is stored,
// and put beside it once they are there.
//
// Belongs to the loading thread, which never waits but in wait().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "libprof/base/demangler.hpp"

namespace gpuprof::store {

class ReadableNames {
 public:
  ReadableNames();
  ~ReadableNames();

  struct Answer {
    std::int64_t id;
    Readable readable;
  };

  // Of what is a mangled name; nothing is asked for other strings.
  void ask(std::int64_t id, std::string_view text);
  // Whether take() would give any.
  bool has_answers() const;
  // What has come since the last call.
  std::vector<Answer> take();
  // Until all have come, at most this long. How many have not.
  std::size_t wait(std::chrono::milliseconds patience);

 private:
  struct Inbox;  // shared with the demangler's thread
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace gpuprof::store
