#include <algorithm>
#include <numeric>

#include "libprof/simulate/change.hpp"
#include "libprof/simulate/read_schedule.hpp"

namespace gpuprof::simulate {
namespace {

// A call in which the host waited: for what a synchronization says, or for work.
struct Wait {
  std::uint32_t call = 0;
  std::uint32_t synchronization = none, work = none;
  std::uint32_t mended_by = nothing;
};

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

// By call.
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
    std::vector<std::uint32_t> order(read.calls.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto begin = [&](std::uint32_t call) { return read.calls[call].begin; };
    if (!std::ranges::is_sorted(order, {}, begin)) std::ranges::stable_sort(order, {}, begin);
    for (const std::uint32_t call : order) take(call);
    put_in_order();
  }

  // Of the anchors, in their order, the first of their waits; `none` for one that has none.
  const std::vector<std::uint32_t>& first_waits() const { return first_waits_; }

  void give_to_works() {
    Schedule& schedule = read_.schedule;
    for (std::uint32_t i = 0; i < schedule.works.size(); ++i) {
      Work& work = schedule.works[i];
      if (work.ready == 0) continue;
      work.anchor = at(launches_[read_.calls_of[i]], work.begin);
    }
    for (Gap& gap : schedule.gaps) {
      gap.in_wait =
          is_waiting(schedule.streams[schedule.works[gap.work].stream].process, gap.begin);
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
    thread.last_end = std::max(thread.last_end, call.end);
    process.latest = call.thread;
    process.last_end = call.end;
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
      waiting.push_back({call.begin, std::max(end, call.end)});
    }
    if (read_.schedule.from && call.end <= *read_.schedule.from) return;
    const std::uint32_t before = at(thread.anchor, call.begin);
    thread.anchor = add({.begin = call.begin,
                         .end = call.end,
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
  std::vector<std::uint32_t> launches_;        // by call: its anchor
  std::vector<std::uint32_t> waits_of_;        // by call: the first of its waits
  std::vector<std::uint32_t> first_waits_;     // by anchor
};

// What waits waited for: a sweep over anchors and work in the order of time.
class Targets {
 public:
  Targets(Read& read, const std::vector<Wait>& waits)
      : read_(read),
        waits_(waits),
        streams_(read.schedule.streams.size()),
        touched_(read.contexts.count()),
        streams_of_(read.processes.count()) {
    for (std::uint32_t i = 0; i < streams_.size(); ++i) {
      streams_of_[read.schedule.streams[i].process].push_back(i);
    }
    read_events();
  }

  void find(const std::vector<std::uint32_t>& first_waits) {
    std::vector<Anchor>& anchors = read_.schedule.anchors;
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      begin_works(anchors[i].end);
      if (first_waits[i] == none) continue;
      Anchor& anchor = anchors[i];
      anchor.first_target = static_cast<std::uint32_t>(read_.schedule.targets.size());
      const std::uint32_t call = waits_[first_waits[i]].call;
      for (std::uint32_t wait = first_waits[i]; wait < waits_.size() && waits_[wait].call == call;
           ++wait) {
        add(waits_[wait], read_.calls[call]);
      }
      anchor.targets =
          static_cast<std::uint32_t>(read_.schedule.targets.size()) - anchor.first_target;
    }
    begin_works(INT64_MAX);
  }

 private:
  struct Stream {
    std::uint32_t latest = none, latest_to_host = none;  // work that has begun
    bool touched = false;                                // since its context was waited for
    std::size_t next_wait = 0, last_wait = 0;            // of the stream for events
  };
  struct Event {
    std::uint32_t stream = none;
    std::int64_t recorded = 0;  // when the call began
  };
  struct EventWait {
    std::uint32_t stream = none;
    std::int64_t begin = 0;
    std::uint32_t synchronization = 0;
  };
  static constexpr std::int64_t not_collected = UINT32_MAX;  // recording
  static constexpr std::size_t most_streams = 64;  // in which unrecorded causes are looked for

  void read_events() {
    for (std::uint32_t i = 0; i < read_.synchronizations.size(); ++i) {
      const Synchronization& each = read_.synchronizations[i];
      if (each.type != Synchronization::record && each.type != Synchronization::stream_for_event) {
        continue;
      }
      const std::uint32_t stream = read_.streams.find({each.process, each.stream});
      const Call* call = read_.find_call(each.correlation);
      if (stream == none || !call) continue;
      if (each.type == Synchronization::record) {
        if (each.recording == 0 || each.recording == not_collected) continue;
        recordings_[{each.process, each.recording}] = {stream, call->begin};
      } else {
        event_waits_.push_back({stream, call->begin, i});
      }
    }
    std::ranges::sort(event_waits_, [](const EventWait& a, const EventWait& b) {
      return std::pair(a.stream, a.begin) < std::pair(b.stream, b.begin);
    });
    for (std::size_t i = 0; i < event_waits_.size(); ++i) {
      Stream& stream = streams_[event_waits_[i].stream];
      if (stream.last_wait == 0) stream.next_wait = i;
      stream.last_wait = i + 1;
    }
  }

  void begin_works(std::int64_t before) {
    const std::vector<Work>& works = read_.schedule.works;
    for (; next_work_ < works.size() && works[next_work_].begin < before; ++next_work_) {
      const Work& work = works[next_work_];
      Stream& stream = streams_[work.stream];
      wait_for_events(next_work_, work, stream);
      stream.latest = next_work_;
      if (work.direction == 2) stream.latest_to_host = next_work_;
      if (!stream.touched) touched_[read_.context_of[work.stream]].push_back(work.stream);
      stream.touched = true;
    }
  }

  void wait_for_events(std::uint32_t number, const Work& work, Stream& stream) {
    if (read_.calls_of[number] == none) return;
    for (; stream.next_wait < stream.last_wait &&
           event_waits_[stream.next_wait].begin < read_.launched(number);
         ++stream.next_wait) {
      const EventWait& wait = event_waits_[stream.next_wait];
      const Event* event = event_of(read_.synchronizations[wait.synchronization]);
      const std::uint32_t before = read_.before[number];
      const std::int64_t known =
          std::max(work.ready, before == none ? 0 : read_.schedule.works[before].end);
      const std::uint32_t target =
          event ? find_before(read_, streams_[event->stream].latest, event->recorded, work.begin)
                : find_cause(work.stream, wait.begin, known, work.begin);
      if (target != none && !work.fixed) read_.schedule.events.emplace_back(number, target);
    }
  }

  const Event* event_of(const Synchronization& wait) const {
    const auto found = recordings_.find({wait.process, wait.recording});
    return found == recordings_.end() ? nullptr : &found->second;
  }

  // The work of the process, in another stream than `without`, that was over last in a period, soon
  // before its end, if it was launched before a time.
  std::uint32_t find_cause(std::uint32_t without, std::int64_t launched_before, std::int64_t begin,
                           std::int64_t end, std::uint32_t process = none) const {
    if (without != none) process = read_.schedule.streams[without].process;
    const auto& candidates = streams_of_[process];
    if (candidates.size() > most_streams) return none;
    std::uint32_t cause = none;
    std::int64_t latest = std::max(begin, end - longest_reaction);
    for (const std::uint32_t stream : candidates) {
      if (stream == without) continue;
      const std::uint32_t work = find_before(read_, streams_[stream].latest, launched_before, end);
      if (work == none || read_.schedule.works[work].end <= latest) continue;
      cause = work;
      latest = read_.schedule.works[work].end;
    }
    return cause;
  }

  void add(const Wait& wait, const Call& call) {
    if (wait.work != none) {
      // A forged call may be over before its work has begun.
      if (wait.work < next_work_) read_.schedule.targets.push_back(wait.work);
      return;
    }
    const Synchronization& each = read_.synchronizations[wait.synchronization];
    if (each.type == Synchronization::of_event) {
      add_event(each, call);
    } else if (each.type == Synchronization::of_stream) {
      const std::uint32_t stream = read_.streams.find({each.process, each.stream});
      if (stream != none) add_stream(streams_[stream], call);
    } else {
      add_context(read_.contexts.find({each.process, each.stream >> 32}), call);
    }
  }

  void add_event(const Synchronization& wait, const Call& call) {
    const Event* event = event_of(wait);
    const std::uint32_t target =
        event ? find_before(read_, streams_[event->stream].latest, event->recorded, call.end)
              : find_cause(none, call.begin, call.begin, call.end, read_.process_of[call.thread]);
    if (target != none) read_.schedule.targets.push_back(target);
  }

  // Returns whether the latest work is among them.
  bool add_stream(const Stream& stream, const Call& call) {
    const std::uint32_t target = find_before(read_, stream.latest, call.begin, call.end);
    if (target != none) read_.schedule.targets.push_back(target);
    // Copies to the host, which a change may move to a stream of their own.
    const std::uint32_t copy = find_before(read_, stream.latest_to_host, call.begin, call.end);
    if (copy != none && copy != target) read_.schedule.targets.push_back(copy);
    return target == stream.latest;
  }

  void add_context(std::uint32_t context, const Call& call) {
    if (context == none) return;
    std::erase_if(touched_[context], [&](std::uint32_t stream) {
      const bool all = add_stream(streams_[stream], call);
      if (all) streams_[stream].touched = false;
      return all;
    });
  }

  Read& read_;
  const std::vector<Wait>& waits_;
  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint32_t>> touched_;     // streams, by context
  std::vector<std::vector<std::uint32_t>> streams_of_;  // by process
  std::unordered_map<TwoNumbers, Event, HashTwo> recordings_;
  std::vector<EventWait> event_waits_;  // by stream and time
  std::uint32_t next_work_ = 0;
};

}  // namespace

void find_waits(Read& read) {
  const std::vector<Wait> waits = read_waits(read);
  Threads threads(read, waits);
  threads.give_to_works();
  Targets(read, waits).find(threads.first_waits());
}

}  // namespace gpuprof::simulate
