#include "libprof/report/dependency.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

namespace gpuprof::report::dependency {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// Calls by correlation id.
class CallFinder {
 public:
  void add(std::int64_t correlation, std::int32_t call) {
    if (correlation != 0) calls_.emplace_back(correlation, call);
  }
  void sort() { std::ranges::sort(calls_); }

  // The first call with this id, or -1. Fast when called in roughly ascending id order.
  std::int32_t find(std::int64_t correlation) {
    const std::size_t near = std::min(last_ + 16, calls_.size());
    while (last_ < near && calls_[last_].first < correlation) ++last_;
    const bool is_first = last_ == 0 || calls_[last_ - 1].first < correlation;
    if (last_ == near || !is_first) {
      last_ = static_cast<std::size_t>(
          std::ranges::lower_bound(calls_, correlation, {}, &Entry::first) - calls_.begin());
    }
    const bool found = last_ < calls_.size() && calls_[last_].first == correlation;
    return found ? calls_[last_].second : -1;
  }

 private:
  using Entry = std::pair<std::int64_t, std::int32_t>;
  std::vector<Entry> calls_;
  std::size_t last_ = 0;
};

// State of the work of a stream, of a context, or of the streams that block with its null stream.
struct Group {
  std::int32_t ended = -1;      // the work that ended last so far
  std::int32_t asked_for = -1;  // of the work launched so far, what will end last
  std::int32_t running = 0;
  std::int64_t changed = 0;  // when `running` changed
  std::int64_t busy = 0;     // ns until then during which something ran

  std::int64_t busy_until(std::int64_t time) const {
    return busy + (running > 0 ? time - changed : 0);
  }
  void change(std::int64_t time, std::int32_t difference) {
    busy = busy_until(time);
    changed = time;
    running += difference;
  }
};

template <typename T>
std::vector<std::int32_t> order_by(const std::vector<T>& records, auto&& key) {
  std::vector<std::int32_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) {
    return std::invoke(key, records[static_cast<std::size_t>(i)]);
  });
  return order;
}

}  // namespace

// One pass over all begins and ends in time order. Finds what each call waits for, and what each
// work begins after.
class Sweep {
 public:
  Sweep(Analysis& analysis, const std::vector<Role>& roles, CallFinder& finder);
  void run();

 private:
  // What a call waits for: the last work of a group to end.
  struct Target {
    std::int32_t work = -1;
    std::size_t group = 0;
    bool certain = true;  // false: a wait only if the call ends after the work
  };
  struct Action {  // a synchronization or the recording of an event
    std::int32_t call;
    const Synchronization* synchronization;
    const EventRecord* event;
  };
  struct OpenWait {
    std::int64_t end;
    std::int32_t call, work;
    std::size_t group;
    std::int64_t busy;  // the group's, when the call began
    bool operator>(const OpenWait& other) const { return end > other.end; }
  };

  void call_begins(std::int32_t call);
  void work_begins(std::int32_t work);
  void work_ends(std::int32_t work);
  void wait_ends();
  void ask_for(std::int32_t work);
  void ask_for_work_of(std::int32_t call, Target& target);
  void act(const Action& action, Target& target);
  void keep_later(Target& target, const Target& other) const;
  Target all_of(std::size_t group, bool certain = true) const {
    return {groups_[group].asked_for, group, certain};
  }

  Work& work(std::int32_t index) { return timeline_.work[static_cast<std::size_t>(index)]; }
  const Work& work(std::int32_t index) const {
    return timeline_.work[static_cast<std::size_t>(index)];
  }
  const Call& call(std::int32_t index) const {
    return timeline_.calls[static_cast<std::size_t>(index)];
  }
  const Stream& stream(std::int32_t index) const {
    return timeline_.streams[static_cast<std::size_t>(index)];
  }
  std::size_t context_group(std::int32_t context) const {
    return timeline_.streams.size() + static_cast<std::size_t>(context);
  }
  std::size_t blocking_group(std::int32_t context) const {
    return context_group(timeline_.contexts + context);
  }
  // The group that must finish before all work launched into a stream is done.
  std::size_t group_of(std::int32_t index) const {
    return stream(index).null ? blocking_group(stream(index).context)
                              : static_cast<std::size_t>(index);
  }
  // The groups that a stream's work belongs to.
  void for_groups(std::int32_t index, auto&& action) {
    const Stream& stream = this->stream(index);
    action(groups_[static_cast<std::size_t>(index)]);
    action(groups_[context_group(stream.context)]);
    if (stream.blocking || stream.null) action(groups_[blocking_group(stream.context)]);
  }
  std::int64_t end_of(std::int32_t index) const { return index < 0 ? 0 : work(index).end; }

  Analysis& analysis_;
  Timeline& timeline_;
  const std::vector<Role>& roles_;
  std::vector<std::int32_t> by_end_, by_launch_;  // work indices
  std::size_t asked_ = 0;                         // position in by_launch_
  std::vector<Action> actions_;                   // sorted by call
  std::size_t acted_ = 0;
  std::vector<Group> groups_;
  std::vector<std::int32_t> null_streams_;   // by context; -1: none
  std::vector<std::int32_t> gates_;          // by stream: later work begins after this
  std::vector<std::int32_t> began_;          // by stream: the last work that began
  std::vector<std::int32_t> last_contexts_;  // by thread: where it last launched work; -1: nowhere
  std::map<std::pair<std::int32_t, std::int64_t>, Target> events_;  // by context and event id
  std::priority_queue<OpenWait, std::vector<OpenWait>, std::greater<>> waiting_;
};

Sweep::Sweep(Analysis& analysis, const std::vector<Role>& roles, CallFinder& finder)
    : analysis_(analysis),
      timeline_(analysis.timeline_),
      roles_(roles),
      by_end_(order_by(timeline_.work, &Work::end)) {
  const auto contexts = static_cast<std::size_t>(timeline_.contexts);
  groups_.resize(timeline_.streams.size() + 2 * contexts);
  gates_.resize(timeline_.streams.size(), -1);
  began_.resize(timeline_.streams.size(), -1);
  last_contexts_.resize(static_cast<std::size_t>(timeline_.threads), -1);
  null_streams_.resize(contexts, -1);
  for (std::size_t i = 0; i < timeline_.streams.size(); ++i) {
    const Stream& stream = timeline_.streams[i];
    if (stream.null) {
      null_streams_[static_cast<std::size_t>(stream.context)] = static_cast<std::int32_t>(i);
    }
  }
  for (Work& work : timeline_.work) work.launch = finder.find(work.correlation);
  by_launch_ = order_by(timeline_.work, &Work::launch);
  for (const Synchronization& synchronization : timeline_.synchronizations) {
    const std::int32_t call = finder.find(synchronization.correlation);
    if (call >= 0) actions_.push_back({call, &synchronization, nullptr});
  }
  for (const EventRecord& event : timeline_.events) {
    const std::int32_t call = finder.find(event.correlation);
    if (call >= 0) actions_.push_back({call, nullptr, &event});
  }
  std::ranges::stable_sort(actions_, {}, &Action::call);
}

void Sweep::run() {
  // Work without a call counts as launched when it begins.
  while (asked_ < by_launch_.size() && work(by_launch_[asked_]).launch < 0) ++asked_;
  std::size_t calls = 0, begun = 0, ended = 0;
  while (true) {
    const std::int64_t end = ended < by_end_.size() ? work(by_end_[ended]).end : never;
    const std::int64_t wait = waiting_.empty() ? never : waiting_.top().end;
    const std::int64_t call = calls < timeline_.calls.size() ? timeline_.calls[calls].start : never;
    const std::int64_t start = begun < timeline_.work.size() ? timeline_.work[begun].start : never;
    const std::int64_t now = std::min({end, wait, call, start});
    if (now == never) break;
    if (end == now) {
      work_ends(by_end_[ended++]);
    } else if (wait == now) {
      wait_ends();
    } else if (call == now) {
      call_begins(static_cast<std::int32_t>(calls++));
    } else {
      work_begins(static_cast<std::int32_t>(begun++));
    }
  }
  std::ranges::sort(analysis_.waits_, {}, &Analysis::Wait::call);
}

void Sweep::keep_later(Target& target, const Target& other) const {
  if (other.work >= 0 && end_of(other.work) > end_of(target.work)) target = other;
}

void Sweep::ask_for(std::int32_t index) {
  Work& asked = work(index);
  for_groups(asked.stream, [&](Group& group) {
    if (asked.end > end_of(group.asked_for)) group.asked_for = index;
  });
  std::int32_t& gate = gates_[static_cast<std::size_t>(asked.stream)];
  asked.before = gate;
  gate = -1;
}

void Sweep::ask_for_work_of(std::int32_t index, Target& target) {
  const Role role = roles_[call(index).label];
  for (; asked_ < by_launch_.size() && work(by_launch_[asked_]).launch == index; ++asked_) {
    const std::int32_t next = by_launch_[asked_];
    const Work& asked = work(next);
    const std::size_t group = group_of(asked.stream);
    ask_for(next);
    if (role == Role::copy && asked.returns >= Returns::after_it) {
      keep_later(target, {next, group, true});
    }
    if (role == Role::async_copy && asked.returns == Returns::after_it_always) {
      keep_later(target, {next, group, false});
    }
    last_contexts_[static_cast<std::size_t>(call(index).thread)] = stream(asked.stream).context;
  }
}

void Sweep::act(const Action& action, Target& target) {
  if (action.event) {
    const std::int32_t stream = action.event->stream;
    events_[{this->stream(stream).context, action.event->event}] = all_of(group_of(stream));
    return;
  }
  const Synchronization& synchronization = *action.synchronization;
  const bool has_stream = synchronization.stream >= 0;
  switch (synchronization.kind) {
    case Waits::for_context:
      keep_later(target, all_of(context_group(synchronization.context)));
      break;
    case Waits::for_stream:
      if (has_stream) keep_later(target, all_of(group_of(synchronization.stream)));
      break;
    default: {
      const auto event = events_.find({synchronization.context, synchronization.event});
      if (event == events_.end()) {
        ++analysis_.unknown_events_;
      } else if (synchronization.kind == Waits::for_event) {
        keep_later(target, event->second);
      } else if (has_stream) {
        std::int32_t& gate = gates_[static_cast<std::size_t>(synchronization.stream)];
        if (end_of(event->second.work) > end_of(gate)) gate = event->second.work;
      }
    }
  }
}

void Sweep::call_begins(std::int32_t index) {
  const Call& call = this->call(index);
  Target target;
  ask_for_work_of(index, target);
  bool synchronized = false;
  for (; acted_ < actions_.size() && actions_[acted_].call == index; ++acted_) {
    act(actions_[acted_], target);
    synchronized = true;
  }
  const Role role = roles_[call.label];
  if (!synchronized && (role == Role::frees || role == Role::synchronizes_context)) {
    std::int32_t context = last_contexts_[static_cast<std::size_t>(call.thread)];
    if (context < 0 && timeline_.contexts == 1) context = 0;
    if (context >= 0) {
      keep_later(target, all_of(context_group(context), role == Role::synchronizes_context));
    }
  }
  if (target.work < 0) return;
  const Work& last = work(target.work);
  if (last.end <= call.start || last.start >= call.end) return;
  if (last.end > call.end && !target.certain) return;
  waiting_.push({std::min(last.end, call.end), index, target.work, target.group,
                 groups_[target.group].busy_until(call.start)});
}

void Sweep::wait_ends() {
  const OpenWait wait = waiting_.top();
  waiting_.pop();
  const std::int64_t time = groups_[wait.group].busy_until(wait.end) - wait.busy;
  analysis_.waits_.push_back({wait.call, wait.work, time});
}

void Sweep::work_begins(std::int32_t index) {
  Work& begun = work(index);
  const Stream& stream = this->stream(begun.stream);
  const auto place = static_cast<std::size_t>(begun.stream);
  if (begun.launch < 0) ask_for(index);
  // Work that is still running is unrelated: it is on another branch of a graph.
  const auto after = [&](std::int32_t other) {
    if (other >= 0 && work(other).end <= begun.start &&
        (begun.before < 0 || work(other).end > work(begun.before).end)) {
      begun.before = other;
    }
  };
  const std::int32_t gate = begun.before;
  begun.before = -1;
  after(gate);
  after(groups_[group_of(begun.stream)].ended);
  const std::int32_t null_stream = null_streams_[static_cast<std::size_t>(stream.context)];
  if (stream.blocking && null_stream >= 0) {
    after(groups_[static_cast<std::size_t>(null_stream)].ended);
  }
  // Nested kernels begin while their parent runs.
  const std::int32_t parent = began_[place];
  if (begun.nested && parent >= 0 && work(parent).correlation == begun.correlation) {
    begun.before = parent;
  } else if (begun.launch >= 0) {
    const std::int64_t launched = call(begun.launch).start;
    if (launched > begun.start) begun.launch = -1;  // the clocks disagree
    if (begun.launch >= 0 && launched >= end_of(begun.before)) begun.before = -1;
  }
  began_[place] = index;
  for_groups(begun.stream, [&](Group& group) { group.change(begun.start, 1); });
}

void Sweep::work_ends(std::int32_t index) {
  const Work& ended = work(index);
  for_groups(ended.stream, [&](Group& group) {
    group.change(ended.end, -1);
    group.ended = index;
  });
}

Analysis::Analysis(Timeline timeline, const std::vector<Role>& roles)
    : timeline_(std::move(timeline)) {
  sort_calls();
  sort_work();
  {
    CallFinder finder;
    const auto count = static_cast<std::int32_t>(timeline_.calls.size());
    for (std::int32_t i = 0; i < count; ++i) {
      finder.add(timeline_.calls[static_cast<std::size_t>(i)].correlation, i);
    }
    for (const Inner& inner : inner_) finder.add(inner.call.correlation, inner.outer);
    finder.sort();
    Sweep(*this, roles, finder).run();
  }
  follow_path();
}

void Analysis::sort_calls() {
  std::vector<Call>& calls = timeline_.calls;
  std::ranges::sort(calls, {}, [](const Call& call) {
    return std::tuple(call.start, -call.end, call.correlation, call.label);
  });
  std::vector<std::int32_t> last(static_cast<std::size_t>(timeline_.threads), -1);
  previous_.reserve(calls.size());
  std::size_t kept = 0;
  for (const Call& call : calls) {
    std::int32_t& before = last[static_cast<std::size_t>(call.thread)];
    const Call* outer = before < 0 ? nullptr : &calls[static_cast<std::size_t>(before)];
    if (outer && call.start < outer->end && call.end <= outer->end) {
      inner_.push_back({call, before});
      continue;
    }
    previous_.push_back(before);
    before = static_cast<std::int32_t>(kept);
    calls[kept++] = call;
  }
  calls.resize(kept);
}

void Analysis::sort_work() {
  std::ranges::sort(timeline_.work, {}, [](const Work& work) {
    return std::tuple(work.start, work.end, work.correlation, work.stream);
  });
}

// Terminates: time never increases, and while it is constant the call index decreases.
void Analysis::follow_path() {
  const std::vector<Call>& calls = timeline_.calls;
  const std::vector<Work>& works = timeline_.work;
  if (calls.empty()) return;
  // The current position on the path: the end of a call or of work, or the begin of a call.
  enum class At { end_of_call, end_of_work, begin_of_call } at = At::end_of_call;
  std::int32_t index = 0;
  std::int64_t time = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].end > time) index = static_cast<std::int32_t>(i), time = calls[i].end;
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    // On a tie with the last call, the work is last.
    if (works[i].end < time || (works[i].end == time && at == At::end_of_work)) continue;
    at = At::end_of_work, index = static_cast<std::int32_t>(i), time = works[i].end;
  }
  const auto go_to = [&](At place, std::int32_t record, std::int64_t when) {
    other_ += std::max<std::int64_t>(time - when, 0);
    time = std::min(time, when);
    at = place;
    index = record;
  };
  const auto pass = [&](std::vector<Part>& parts, std::int64_t start) {
    if (time > start) parts.emplace_back(index, time - start);
    time = std::min(time, start);
  };
  // Continues on another thread: `last` is the last call that may have begun earlier.
  const auto go_to_other = [&](std::int32_t last) {
    if (last < 0) return false;
    const Call& call = calls[static_cast<std::size_t>(last)];
    if (call.end <= time) {
      go_to(At::end_of_call, last, call.end);
    } else {
      go_to(At::begin_of_call, last, call.start);
    }
    return true;
  };
  while (true) {
    if (at == At::end_of_call) {
      const Call& call = calls[static_cast<std::size_t>(index)];
      const auto wait = std::ranges::lower_bound(waits_, index, {}, &Wait::call);
      const bool waits = wait != waits_.end() && wait->call == index;
      const Work* work = waits ? &works[static_cast<std::size_t>(wait->work)] : nullptr;
      if (work && work->start < time) {
        go_to(At::end_of_work, wait->work, work->end);
      } else {
        pass(critical_calls_, call.start);
        at = At::begin_of_call;
      }
    } else if (at == At::end_of_work) {
      const Work& work = works[static_cast<std::size_t>(index)];
      pass(critical_work_, work.start);
      if (work.before >= 0) {
        go_to(At::end_of_work, work.before, works[static_cast<std::size_t>(work.before)].end);
      } else if (work.launch >= 0) {
        go_to(At::begin_of_call, work.launch, calls[static_cast<std::size_t>(work.launch)].start);
      } else {
        const auto later = std::ranges::upper_bound(calls, time, {}, &Call::start);
        if (!go_to_other(static_cast<std::int32_t>(later - calls.begin()) - 1)) break;
      }
    } else {
      const std::int32_t before = previous_[static_cast<std::size_t>(index)];
      if (before >= 0) {
        go_to(At::end_of_call, before, calls[static_cast<std::size_t>(before)].end);
      } else if (!go_to_other(index - 1)) {
        break;
      }
    }
  }
  std::ranges::sort(critical_calls_);
  std::ranges::sort(critical_work_);
}

void Analysis::each(const std::function<void(const DependencyRow&)>& row) const {
  std::size_t call = 0, inner = 0, work = 0, wait = 0, critical_call = 0, critical_work = 0;
  const auto part = [](const std::vector<Part>& parts, std::size_t& place, std::size_t index) {
    const bool has = place < parts.size() && static_cast<std::size_t>(parts[place].first) == index;
    return has ? parts[place++].second : 0;
  };
  // Order of records that begin together: calls before work, then by correlation id.
  using Key = std::tuple<std::int64_t, int, std::int64_t>;
  constexpr Key none{never, 0, 0};
  const std::vector<Call>& calls = timeline_.calls;
  const std::vector<Work>& works = timeline_.work;
  while (true) {
    const Key of_call =
        call < calls.size() ? Key{calls[call].start, 0, calls[call].correlation} : none;
    const Key of_inner = inner < inner_.size()
                             ? Key{inner_[inner].call.start, 1, inner_[inner].call.correlation}
                             : none;
    const Key of_work =
        work < works.size() ? Key{works[work].start, 2, works[work].correlation} : none;
    const Key first = std::min({of_call, of_inner, of_work});
    if (first == none) return;
    if (first == of_call) {
      const bool waits =
          wait < waits_.size() && static_cast<std::size_t>(waits_[wait].call) == call;
      row({calls[call].start, calls[call].end, calls[call].label,
           part(critical_calls_, critical_call, call), waits ? waits_[wait++].time : 0});
      ++call;
    } else if (first == of_inner) {
      const Call& record = inner_[inner++].call;
      row({record.start, record.end, record.label, 0, 0});
    } else {
      row({works[work].start, works[work].end, works[work].label,
           part(critical_work_, critical_work, work), 0});
      ++work;
    }
  }
}

}  // namespace gpuprof::report::dependency
