#include "libprof/metrics/processes.hpp"

namespace gpuprof::metrics {

void Processes::begin_run(std::size_t run) {
  const std::lock_guard lock(mutex_);
  run_ = run;
  times_met_.clear();
  process_of_stream_.clear();
}

Processes::Place Processes::meet(std::uint32_t stream, const wire::Fields& hello) {
  const std::lock_guard lock(mutex_);
  // A process is recognized by its command and its position among processes with the same one.
  std::string key = std::string(hello.text("executable")) + '\0' +
                    std::string(hello.text("command_line")) + '\0' +
                    std::string(hello.text("rank"));
  key += '\0' + std::to_string(times_met_[key]++);
  const auto process =
      numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  process_of_stream_[stream] = process;
  if (run_ == 0) stream_of_process_[process] = stream;
  return place_of(stream);
}

Processes::Place Processes::find(std::uint32_t stream) const {
  const std::lock_guard lock(mutex_);
  return place_of(stream);
}

Processes::Place Processes::place_of(std::uint32_t stream) const {
  const auto found = process_of_stream_.find(stream);
  Place place{.run = run_,
              .process = found == process_of_stream_.end() ? ~0u : found->second,
              .recorded_stream = std::nullopt};
  if (run_ == 0) {
    place.recorded_stream = stream;
  } else if (const auto first = stream_of_process_.find(place.process);
             first != stream_of_process_.end()) {
    place.recorded_stream = first->second;
  }
  return place;
}

}  // namespace gpuprof::metrics
