// --ranks: of which ranks of a parallel job everything is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuprof::record {

// Numbers and ranges as Python writes them, with commas between: "0,::64" are the ranks 0, 64, 128
// and so on.
class RankChoice {
 public:
  // Nullopt: it is no such list.
  static std::optional<RankChoice> parsed(std::string_view text);
  bool has(std::int64_t rank) const;

 private:
  struct Range {
    std::int64_t first = 0;
    std::optional<std::int64_t> end;  // not in it; nullopt: there is none
    std::int64_t step = 1;
  };
  static std::optional<Range> range_of(std::string_view text);

  std::vector<Range> ranges_;
};

// Of this process, as the variables of its job's launcher say (libprof/wire/job.hpp), or else
// LOCAL_RANK. Nullopt: none of them is set to a number.
std::optional<std::int64_t> rank_of_this_process();

}  // namespace gpuprof::record
