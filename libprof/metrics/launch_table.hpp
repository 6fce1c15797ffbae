// The launches of a first run, for later runs of the same program to be joined with.
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

// By process, context and place in the context. Kept in blocks of one file without a name, so that
// memory hardly grows with the launches, and descriptors not at all. Beyond
// wire::max_launch_blocks, launches are not kept, and have none to be joined with. Belongs to one
// thread.
class LaunchTable {
 public:
  explicit LaunchTable(std::string folder, std::size_t most_blocks = wire::max_launch_blocks)
      : folder_(std::move(folder)), most_blocks_(most_blocks) {}
  ~LaunchTable();
  LaunchTable(const LaunchTable&) = delete;
  LaunchTable& operator=(const LaunchTable&) = delete;

  // Throws gpuprof::Error when the folder takes no more, and wire::StreamError when a launch has a
  // number that there cannot be.
  void add(std::uint32_t process, const wire::CounterData& launches);
  // Gives the ranges of a later run the correlation ids of the first. A launch of another kernel or
  // size, and one that the first run did not have, loses its place: its id becomes 0 and it gets a
  // note. Returns how many of them there are, and of launches that other runs did not have alike.
  std::uint64_t join(std::uint32_t process, std::uint32_t context_number,
                     MeasuredValues& values) const;

  // How many launches the busiest context of a process had; 0: not known.
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

  // Where it lies in the file; nothing: there is no block for it.
  std::optional<std::uint64_t> place_of(std::uint32_t process, std::uint32_t context,
                                        std::uint64_t ordinal) const;
  // The same, with a block made for it unless there are too many.
  std::optional<std::uint64_t> place_for(std::uint32_t process, std::uint32_t context,
                                         std::uint64_t ordinal);

  std::string folder_;
  std::size_t most_blocks_;  // of a process
  int file_ = -1;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t>
      blocks_;  // by process, context and number in the context
  std::map<std::uint32_t, Process> processes_;
};

}  // namespace gpuprof::metrics
