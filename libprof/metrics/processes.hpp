// Who is who over the runs of a target: a process of a later run is known again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "libprof/wire/codec.hpp"

namespace gpuprof::metrics {

// Any thread: the listener's meets processes, the loading thread asks who they are.
class Processes {
 public:
  // What follows is of this run; again for a run that is made again.
  void begin_run(std::size_t run);

  struct Place {
    std::size_t run;
    std::uint32_t process;  // its number over all runs; ~0: unknown
    // Its stream in the first run, which the recorder has. Nothing: that had no such process.
    std::optional<std::uint32_t> recorded_stream;
  };
  // A process by its hello.
  Place meet(std::uint32_t stream, const wire::Fields& hello);
  Place find(std::uint32_t stream) const;

 private:
  Place place_of(std::uint32_t stream) const;

  mutable std::mutex mutex_;  // guards all
  std::size_t run_ = 0;
  std::map<std::string, std::uint32_t> numbers_;              // by what tells them apart
  std::map<std::string, std::uint32_t> times_met_;            // in this run, how often
  std::map<std::uint32_t, std::uint32_t> process_of_stream_;  // of this run
  std::map<std::uint32_t, std::uint32_t> stream_of_process_;  // of the first run
};

}  // namespace gpuprof::metrics
