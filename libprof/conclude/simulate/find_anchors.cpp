#include <algorithm>
#include <numeric>
#include <utility>

#include "libprof/conclude/simulate/waits.hpp"

namespace gpuprof::simulate {
namespace {

// The anchors of all threads, from their calls in the order in which they began.
class Threads {
 public:
  Threads(Read& read, const std::vector<Wait>& waits)
      : read_(read),
        waits_(waits),
        threads_(read.threads.count()),
        processes_(read.processes.count()),
        waiting_(processes_.size()),
        launches_(read.calls.size()),
        waits_of_(read.calls.size(), none) {
    for (std::size_t i = waits.size(); i-- > 0;) {
      waits_of_[waits[i].call] = static_cast<std::uint32_t>(i);
    }
    read_.schedule.anchors.emplace_back();
    first_waits_.emplace_back(none);
    LargeVector<std::uint32_t> order(read.calls.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto begin = [&](std::uint32_t call) { return read.calls[call].begin; };
    if (!std::ranges::is_sorted(order, {}, begin)) std::ranges::stable_sort(order, {}, begin);
    for (const std::uint32_t call : order) take(call);
    put_in_order();
  }

  std::vector<std::uint32_t> first_waits() && { return std::move(first_waits_); }

  void give_to_works() {
    Schedule& schedule = read_.schedule;
    for (std::uint32_t i = 0; i < schedule.works.size(); ++i) {
      Work& work = schedule.works[i];
      if (work.ready == 0) continue;
      work.anchor = at(launches_[read_.calls_of[i]], work.begin);
    }
    for (const Gap& gap : schedule.gaps) {
      Work& work = schedule.works[gap.work];
      work.after_wait = is_waiting(schedule.streams[work.stream].process, gap.begin);
    }
  }

 private:
  struct Thread {
    std::int64_t last_end = 0;
    std::uint32_t anchor = 0;
  };
  struct Process {
    std::uint32_t latest = none;  // thread that called
    std::int64_t last_end = 0;    // of that call
  };
  struct Waiting {
    std::int64_t begin = 0, end = 0;  // the latest end so far
  };

  // The anchor of the same thread that held at a time.
  std::uint32_t at(std::uint32_t anchor, std::int64_t time) const {
    while (read_.schedule.anchors[anchor].end > time) {
      anchor = read_.schedule.anchors[anchor].previous;
    }
    return anchor;
  }

  std::uint32_t add(const Anchor& anchor, std::uint32_t first_wait) {
    read_.schedule.anchors.push_back(anchor);
    first_waits_.push_back(first_wait);
    return static_cast<std::uint32_t>(read_.schedule.anchors.size() - 1);
  }

  void take(std::uint32_t number) {
    const Call& call = read_.calls[number];
    Thread& thread = threads_[call.thread];
    const std::uint32_t its_process = read_.process_of[call.thread];
    Process& process = processes_[its_process];
    if (process.latest != none && process.latest != call.thread) hand_over(call, thread, process);
    launches_[number] = at(thread.anchor, call.begin);
    if (waits_of_[number] != none) add_wait(waits_of_[number], call, thread, its_process);
    thread.last_end = std::max(thread.last_end, call.end());
    process.latest = call.thread;
    process.last_end = call.end();
  }

  // To a thread that had a pause, from the thread that called last.
  void hand_over(const Call& call, Thread& thread, const Process& process) {
    if (process.last_end > call.begin || process.last_end <= thread.last_end ||
        call.begin - thread.last_end < shortest_pause) {
      return;
    }
    const std::uint32_t own = at(thread.anchor, thread.last_end);
    const std::uint32_t other = at(threads_[process.latest].anchor, process.last_end);
    if (own == 0 && other == 0) return;
    thread.anchor = add({.begin = thread.last_end,
                         .end = call.begin,
                         .other_time = process.last_end,
                         .previous = own,
                         .other = other,
                         .process = read_.process_of[call.thread]},
                        none);
  }

  void add_wait(std::uint32_t first, const Call& call, Thread& thread, std::uint32_t process) {
    std::uint32_t mended_by = nothing;
    for (std::uint32_t i = first; i < waits_.size() && waits_[i].call == waits_[first].call; ++i) {
      mended_by |= waits_[i].mended_by;
    }
    if (mended_by != nothing) {
      auto& waiting = waiting_[process];
      const std::int64_t end = waiting.empty() ? 0 : waiting.back().end;
      waiting.push_back({call.begin, std::max(end, call.end())});
    }
    if (read_.schedule.from && call.end() <= *read_.schedule.from) return;
    const std::uint32_t before = at(thread.anchor, call.begin);
    thread.anchor = add({.begin = call.begin,
                         .end = call.end(),
                         .previous = before,
                         .process = process,
                         .mended_by = mended_by},
                        first);
    // Work whose launch waited for room is launched when there is room.
    if (mended_by == nothing) launches_[waits_[first].call] = thread.anchor;
  }

  bool is_waiting(std::uint32_t process, std::int64_t time) const {
    const auto& waiting = waiting_[process];
    const auto later = std::ranges::upper_bound(waiting, time, {}, &Waiting::begin);
    return later != waiting.begin() && (later - 1)->end > time;
  }

  // By their ends. Those that an anchor refers to end before it or were added before it.
  void put_in_order() {
    std::vector<Anchor>& anchors = read_.schedule.anchors;
    std::vector<std::uint32_t> order(anchors.size()), place(anchors.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto end = [&](std::uint32_t anchor) { return anchors[anchor].end; };
    if (std::ranges::is_sorted(order, {}, end)) return;
    std::ranges::stable_sort(order, {}, end);
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<Anchor> sorted;
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t old : order) {
      Anchor anchor = anchors[old];
      anchor.previous = place[anchor.previous];
      if (anchor.other != none) anchor.other = place[anchor.other];
      sorted.push_back(anchor);
      waits.push_back(first_waits_[old]);
    }
    anchors = std::move(sorted);
    first_waits_ = std::move(waits);
    for (std::uint32_t& anchor : launches_) anchor = place[anchor];
  }

  Read& read_;
  const std::vector<Wait>& waits_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  std::vector<std::vector<Waiting>> waiting_;  // by process
  LargeVector<std::uint32_t> launches_;        // by call: its anchor
  LargeVector<std::uint32_t> waits_of_;        // by call: the first of its waits
  std::vector<std::uint32_t> first_waits_;     // by anchor
};

}  // namespace

std::vector<std::uint32_t> find_anchors(Read& read, const std::vector<Wait>& waits) {
  Threads threads(read, waits);
  threads.give_to_works();
  return std::move(threads).first_waits();
}

}  // namespace gpuprof::simulate
