#include "libprof/conclude/simulate/waits.hpp"

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
      std::uint32_t& count = counts[read.schedule.works[i].stream];
      count += is_first(i) ? 1 : 0;
      places_[i] = count - 1;
    }
    firsts_.resize(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), firsts_.begin(), 0U);
    by_stream_.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{}));
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      if (is_first(i)) at(i, places_[i]) = i;
    }
  }

  std::uint32_t waited_for(std::uint32_t work, const Call& call) {
    if (places_[work] < full_queue || !is_first(work)) return none;
    const auto& works = read_.schedule.works;
    if (works[at(work, places_[work] - full_queue)].end() <= call.begin) return none;
    const auto first = by_stream_.begin() + firsts_[works[work].stream];
    const auto later = std::ranges::partition_point(
        first, first + places_[work], [&](std::uint32_t i) { return works[i].begin < call.end(); });
    if (later == first) return none;
    const std::uint32_t over = find_before(read_, *(later - 1), INT64_MAX, call.end());
    return over != none && works[over].end() > call.begin ? over : none;
  }

 private:
  // Whether the work before it in its stream is of another launch: a graph has many works.
  bool is_first(std::uint32_t work) const {
    const std::uint32_t before = read_.before[work];
    return before == none || read_.calls_of[work] == none ||
           read_.calls_of[before] != read_.calls_of[work];
  }
  std::uint32_t& at(std::uint32_t work, std::uint32_t place) {
    return by_stream_[firsts_[read_.schedule.works[work].stream] + place];
  }

  const Read& read_;
  LargeVector<std::uint32_t> places_;     // of its launch in the stream, by work
  std::vector<std::uint32_t> firsts_;     // by stream, in `by_stream_`
  LargeVector<std::uint32_t> by_stream_;  // the first works of launches
};

// A framework that copies pageable memory waits for the stream right after the copy. If the copy is
// made asynchronously from pinned memory, that wait is not there either.
void mend_waits_after_copies(const Read& read, std::vector<Wait>& waits) {
  for (std::size_t i = 1; i < waits.size(); ++i) {
    const Wait& copy = waits[i - 1];
    if (waits[i].synchronization == none || copy.work == none || waits[i].call != copy.call + 1 ||
        read.calls[waits[i].call].thread != read.calls[copy.call].thread) {
      continue;
    }
    waits[i].mended_by |= copy.mended_by;
  }
}

// What mends the wait for a copy.
std::uint32_t mended_by(std::uint32_t copied) {
  return copied == pageable_copies ? pageable_copies | pinned : copied;
}

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
    const Work& work = read.schedule.works[i];
    const std::uint32_t call = read.calls_of[i];
    if (call == none) continue;
    if (is_waited_for(read, i)) {
      waits.push_back(
          {.call = call, .work = i, .mended_by = simulate::waits | mended_by(work.copied)});
    } else if (const std::uint32_t over = full.waited_for(i, read.calls[call]); over != none) {
      waits.push_back({.call = call, .work = over});
    }
  }
  std::ranges::stable_sort(waits, {}, &Wait::call);
  mend_waits_after_copies(read, waits);
  return waits;
}

}  // namespace gpuprof::simulate
