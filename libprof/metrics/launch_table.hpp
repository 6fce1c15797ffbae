// The launches of a first run, with which later runs of the same program are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "libprof/metrics/evaluator.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// By process, context and position in the context. Kept in blocks of one nameless file, so that
// memory hardly grows with the launches, and descriptors not at all. Launches beyond
// wire::max_launch_blocks are not kept, and cannot be joined with. Used by one thread.
class LaunchTable {
 public:
  explicit LaunchTable(std::string folder, std::size_t most_blocks = wire::max_launch_blocks)
      : folder_(std::move(folder)), most_blocks_(most_blocks) {}
  ~LaunchTable();
  LaunchTable(const LaunchTable&) = delete;
  LaunchTable& operator=(const LaunchTable&) = delete;

  // Throws gpuprof::Error if the folder is full, and wire::StreamError if a launch has an
  // impossible number.
  void add(std::uint32_t process, const wire::CounterData& launches);
  // Gives the ranges of a later run the correlation ids of the first. A launch with a different
  // kernel or size, or one that the first run did not have, loses its id, which becomes 0, and gets
  // a note. Returns the number of these and of launches that differed between other runs.
  std::uint64_t join(std::uint32_t process, std::uint32_t context_number,
                     MeasuredValues& values) const;

  // The number of launches in the busiest context of a process; 0: unknown.
  std::uint64_t launches(std::uint32_t process) const;

 private:
  struct Entry {
    std::uint32_t correlation;
    std::uint32_t shape;  // a hash of name, grid and block
  };
  static constexpr std::uint64_t entries_per_block = 4096;

  struct Process {
    std::size_t blocks = 0;
    std::map<std::uint32_t, std::uint64_t> launches;  // by context: the last one's number
  };

  // Its offset in the file; nullopt: it has no block.
  std::optional<std::uint64_t> place_of(std::uint32_t process, std::uint32_t context,
                                        std::uint64_t ordinal) const;
  // The same, creating a block for it unless there are too many.
  std::optional<std::uint64_t> place_for(std::uint32_t process, std::uint32_t context,
                                         std::uint64_t ordinal);

  std::string folder_;
  std::size_t most_blocks_;  // per process
  int file_ = -1;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t>
      blocks_;  // by process, context and number in the context
  std::map<std::uint32_t, Process> processes_;
};

}  // namespace gpuprof::metrics
