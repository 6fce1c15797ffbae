// The launches of a first run, for later runs of the same program to be joined with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// By process, context and place in the context. Kept in files without names, so that memory does
// not grow with the launches. Belongs to one thread.
class LaunchTable {
 public:
  explicit LaunchTable(std::string folder) : folder_(std::move(folder)) {}
  ~LaunchTable();
  LaunchTable(const LaunchTable&) = delete;
  LaunchTable& operator=(const LaunchTable&) = delete;

  // Throws gpuprof::Error when the folder takes no more.
  void add(std::uint32_t process, const wire::CounterData& launches);
  // Gives the ranges of a later run the correlation ids of the first. A launch of another kernel or
  // size, and one that the first run did not have, loses its place: its id becomes 0 and it gets a
  // note. Returns how many of them there are, and of launches that other runs did not have alike.
  std::uint64_t join(std::uint32_t process, std::uint32_t context_number,
                     wire::MetricValues& values) const;

  // How many launches the busiest context of a process had; 0: not known.
  std::uint64_t launches(std::uint32_t process) const;

 private:
  struct Entry {
    std::uint32_t correlation;
    std::uint32_t shape;  // a hash of name, grid and block
  };
  static std::uint64_t place_of(const wire::MeasuredRange& range);  // in the file

  std::string folder_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> files_;  // by process and context
};

}  // namespace gpuprof::metrics
