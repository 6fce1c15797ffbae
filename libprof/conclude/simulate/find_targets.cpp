#include <algorithm>
#include <unordered_map>
#include <utility>

#include "libprof/conclude/simulate/waits.hpp"

namespace gpuprof::simulate {
namespace {

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
  // Where unrecorded causes are looked for: the last works of that number of streams.
  static constexpr std::size_t most_streams = 32;
  static constexpr std::uint32_t most_works = 32;

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
    const LargeVector<Work>& works = read_.schedule.works;
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
          std::max(work.ready, before == none ? 0 : read_.schedule.works[before].end());
      const std::uint32_t target =
          event ? find_before(read_, streams_[event->stream].latest, event->recorded, work.begin)
                : find_cause(work.stream, wait.begin,
                             std::max(known, work.begin - longest_reaction), work.begin);
      if (target != none && !work.fixed) read_.schedule.events.emplace_back(number, target);
    }
  }

  const Event* event_of(const Synchronization& wait) const {
    const auto found = recordings_.find({wait.process, wait.recording});
    return found == recordings_.end() ? nullptr : &found->second;
  }

  // The work of the process, in another stream than `without`, that was over last in a period, if
  // it was launched before a time.
  std::uint32_t find_cause(std::uint32_t without, std::int64_t launched_before, std::int64_t begin,
                           std::int64_t end, std::uint32_t process = none) const {
    if (without != none) process = read_.schedule.streams[without].process;
    const auto& candidates = streams_of_[process];
    if (candidates.size() > most_streams) return none;
    std::uint32_t cause = none;
    std::int64_t latest = begin;
    for (const std::uint32_t stream : candidates) {
      if (stream == without) continue;
      const std::uint32_t work =
          find_before(read_, streams_[stream].latest, launched_before, end, most_works);
      if (work == none || read_.schedule.works[work].end() <= latest) continue;
      cause = work;
      latest = read_.schedule.works[work].end();
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
        event ? find_before(read_, streams_[event->stream].latest, event->recorded, call.end())
              : find_cause(none, call.begin, call.begin, call.end(), read_.process_of[call.thread]);
    if (target != none) read_.schedule.targets.push_back(target);
  }

  // Returns whether the latest work is among them.
  bool add_stream(const Stream& stream, const Call& call) {
    const std::uint32_t target = find_before(read_, stream.latest, call.begin, call.end());
    if (target != none) read_.schedule.targets.push_back(target);
    // Copies to the host, which a change may move to a stream of their own.
    const std::uint32_t copy = find_before(read_, stream.latest_to_host, call.begin, call.end());
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

void find_targets(Read& read, const std::vector<Wait>& waits,
                  const std::vector<std::uint32_t>& first_waits) {
  Targets(read, waits).find(first_waits);
}

}  // namespace gpuprof::simulate
