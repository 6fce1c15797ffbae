// Demangled forms of strings. Demangling takes time: a name is requested when its string is stored,
// and added to the row once it arrives.
//
// Belongs to the loading thread, which waits only in wait().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "libprof/names/demangler.hpp"

namespace gpuprof::store {

class ReadableNames {
 public:
  ReadableNames();
  ~ReadableNames();

  struct Answer {
    std::int64_t id;
    Readable readable;
  };

  // Requests the readable form of a mangled name; other strings are ignored.
  void ask(std::int64_t id, std::string_view text);
  // Whether take() would return any.
  bool has_answers() const;
  // Everything that has arrived since the last call.
  std::vector<Answer> take();
  // Waits until all have arrived, up to `patience`. Returns the number still missing.
  std::size_t wait(std::chrono::milliseconds patience);

 private:
  struct Inbox;  // shared with the demangler's thread
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace gpuprof::store
