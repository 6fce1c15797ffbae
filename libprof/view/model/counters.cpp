// Reads counters: values over time.
#include "libprof/read/counters.hpp"

#include <utility>

#include "libprof/view/model/reading.hpp"

namespace gpuprof::view {

void read_counters(Reading& reading) {
  using Of = reading::Counter::Of;
  std::map<std::pair<Of, std::array<std::int64_t, 4>>, Track> tracks;
  reading::visit_counters(
      reading.database, {}, [&] { reading.check("reading counters"); },
      [&](const reading::Counter& counter, std::int64_t time, double value) {
        const auto [found, is_new] = tracks.try_emplace({counter.of, counter.key});
        Track& track = found->second;
        if (is_new) {
          track.kind = TrackKind::counter;
          track.device = counter.device;
          track.path = {reading.names.device(counter.device),
                        counter.of == Of::memory    ? reading.process(counter.process)
                        : counter.of == Of::samples ? std::string(samples_group)
                                                    : "environment",
                        counter.name};
          track.counter.unit = counter.unit;
        }
        track.counter.time.push_back(time);
        track.counter.value.push_back(value);
      });
  for (auto& [key, track] : tracks) {
    track.records = static_cast<std::int64_t>(track.counter.time.size());
    reading.model.tracks.push_back(std::move(track));
  }
}

}  // namespace gpuprof::view
