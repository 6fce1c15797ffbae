// Identifies the processes of a target across runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "libprof/wire/codec.hpp"

namespace gpuprof::metrics {

// Any thread: the listener's reports processes, the loading thread looks them up.
class Processes {
 public:
  // Everything that follows belongs to this run; call again for a repeated run.
  void begin_run(std::size_t run);

  struct Place {
    std::size_t run;
    std::uint32_t process;  // its number across all runs; ~0: unknown
    // Its stream in the first run, which the recorder has. nullopt: the first run had no such
    // process.
    std::optional<std::uint32_t> recorded_stream;
  };
  // Identifies a process by its hello.
  Place meet(std::uint32_t stream, const wire::Fields& hello);
  Place find(std::uint32_t stream) const;

 private:
  Place place_of(std::uint32_t stream) const;

  mutable std::mutex mutex_;  // guards all members
  std::size_t run_ = 0;
  std::map<std::string, std::uint32_t> numbers_;              // by their distinguishing facts
  std::map<std::string, std::uint32_t> times_met_;            // how often, in this run
  std::map<std::uint32_t, std::uint32_t> process_of_stream_;  // of this run
  std::map<std::uint32_t, std::uint32_t> stream_of_process_;  // of the first run
};

}  // namespace gpuprof::metrics
