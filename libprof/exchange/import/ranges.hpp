// Converts ranges of threads to the NVTX markers that CUPTI would have delivered.
//
// Ranges are known by start and end; nesting is expressed by the order of markers. So they are
// kept, 40 bytes each plus each text once, and sorted at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/exchange/import/frames.hpp"

namespace gpuprof::importing {

class Ranges {
 public:
  enum class Kind : std::uint8_t { push_pop, start_end, mark };
  static constexpr std::int64_t open = std::numeric_limits<std::int64_t>::max();
  struct Range {
    std::int64_t start = 0;
    std::int64_t end = open;  // `open`: it was never closed
    Process* process = nullptr;
    std::uint32_t thread = 0;
    std::uint32_t end_thread = 0;
    std::uint32_t name = 0;  // from number()
    std::uint32_t domain : 30 = 0;
    Kind kind : 2 = Kind::push_pop;
  };

  // A text's number; 0: the text is empty, or there is no room.
  std::uint32_t number(std::string_view text);
  // False: the limit is reached.
  bool add(const Range& range);
  void write();

 private:
  std::uint32_t write(Process& process, std::uint32_t number);
  void marker(const Range& range, std::uint32_t id, bool end);

  std::vector<Range> ranges_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::size_t held_ = 0;
};

}  // namespace gpuprof::importing
