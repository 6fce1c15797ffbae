// What was not imported from a file, by kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gpuprof::importing {

class Tally {
 public:
  // Names may come from the file, so their number is limited.
  void add(std::string_view what, std::uint64_t count = 1);
  std::uint64_t total() const { return total_; }
  // "12 of overhead, 3 of Trace"; printable.
  std::string text() const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::uint64_t total_ = 0;
};

struct NotImported {
  Tally unreadable;  // rows and events that are invalid or beyond a limit
  Tally values;      // invalid values; the rest of their rows is kept
  Tally left_out;    // things that gpuprof has no table for
  std::string note;  // anything else to say about the file; may be empty
};

}  // namespace gpuprof::importing
