#include "libprof/simulate/waits.hpp"

#include <algorithm>
#include <numeric>

namespace gpuprof::simulate {
namespace {

// Launches that waited for room in the queue of their stream, and the work that made it.
class FullQueues {
 public:
  explicit FullQueues(const Read& read) : read_(read), places_(read.schedule.works.size()) {
    std::vector<std::uint32_t> counts(read.schedule.streams.size());
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      places_[i] = counts[read.schedule.works[i].stream]++;
    }
    firsts_.resize(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), firsts_.begin(), 0U);
    by_stream_.resize(places_.size());
    for (std::uint32_t i = 0; i < places_.size(); ++i) at(i, places_[i]) = i;
  }

  std::uint32_t waited_for(std::uint32_t work, const Call& call) {
    if (places_[work] < full_queue) return none;
    const auto& works = read_.schedule.works;
    if (works[at(work, places_[work] - full_queue)].end <= call.begin) return none;
    const auto first = by_stream_.begin() + firsts_[works[work].stream];
    const auto later = std::ranges::partition_point(
        first, first + places_[work], [&](std::uint32_t i) { return works[i].begin < call.end; });
    if (later == first) return none;
    const std::uint32_t over = find_before(read_, *(later - 1), INT64_MAX, call.end);
    return over != none && works[over].end > call.begin ? over : none;
  }

 private:
  std::uint32_t& at(std::uint32_t work, std::uint32_t place) {
    return by_stream_[firsts_[read_.schedule.works[work].stream] + place];
  }

  const Read& read_;
  std::vector<std::uint32_t> places_;              // in the stream, by work
  std::vector<std::uint32_t> firsts_, by_stream_;  // works by stream
};

}  // namespace

std::vector<Wait> read_waits(const Read& read) {
  std::vector<Wait> waits;
  for (std::uint32_t i = 0; i < read.synchronizations.size(); ++i) {
    const Synchronization& each = read.synchronizations[i];
    if (each.type == Synchronization::record || each.type == Synchronization::stream_for_event) {
      continue;
    }
    if (const Call* call = read.find_call(each.correlation)) {
      waits.push_back({.call = static_cast<std::uint32_t>(call - read.calls.data()),
                       .synchronization = i,
                       .mended_by = simulate::waits});
    }
  }
  FullQueues full(read);
  for (std::uint32_t i = 0; i < read.schedule.works.size(); ++i) {
    const std::uint32_t call = read.calls_of[i];
    if (call == none) continue;
    if (is_waited_for(read, i)) {
      waits.push_back(
          {.call = call, .work = i, .mended_by = simulate::waits | read.schedule.works[i].copied});
    } else if (const std::uint32_t over = full.waited_for(i, read.calls[call]); over != none) {
      waits.push_back({.call = call, .work = over});
    }
  }
  std::ranges::stable_sort(waits, {}, &Wait::call);
  return waits;
}

}  // namespace gpuprof::simulate
