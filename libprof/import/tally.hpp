// What of a file was not imported, by what it was.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gpuprof::importing {

class Tally {
 public:
  // Names may be the file's own, so that there are no more than some.
  void add(std::string_view what, std::uint64_t count = 1);
  std::uint64_t total() const { return total_; }
  // "12 of overhead, 3 of Trace"; printable.
  std::string text() const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::uint64_t total_ = 0;
};

struct NotImported {
  Tally unreadable;  // rows and events that make no sense, or are more than are kept
  Tally values;      // values that make no sense; the rest of their rows is there
  Tally left_out;    // what gpuprof has no table for
  std::string note;  // what else is to be said of the file; empty: nothing
};

}  // namespace gpuprof::importing
