#include "libprof/compute/host_moments.hpp"

#include <algorithm>
#include <tuple>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::size_t most_moments = std::size_t{1} << 25;  // of a process
constexpr std::size_t most_causes = std::size_t{1} << 16;
// Samples are no closer: ns. A forged file may say so.
constexpr std::int64_t least_distance = 100'000;
// How long after its last sample a thread is still taken to be there, ns.
constexpr std::int64_t latest = 20'000'000;

}  // namespace

void HostMoments::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  store::Database& database = snapshot.database();
  if (!database.has_columns("HOST_SAMPLE", {"processId", "ofProcess", "threadId", "time", "stop",
                                            "samples", "state", "stack", "holder"}))
    return;
  const CodeLines users(snapshot, LineOf::users_code, check);
  const CodeLines innermost(snapshot, LineOf::any_code, check);
  lines_.assign(users.lines().begin(), users.lines().end());
  auto row = database.prepare(
      "SELECT processId, ofProcess, threadId, time, stop, samples, state, stack, holder "
      "FROM main.HOST_SAMPLE");
  while (row.step()) {
    check();
    Seen seen{.time = row.integer(3), .stop = row.integer(4), .samples = row.integer(5)};
    const std::int64_t state = row.integer(6), process = row.integer(0), stack = row.integer(7);
    if (seen.time <= 0 || seen.stop <= seen.time || seen.samples <= 0 || state < 0 ||
        state > static_cast<std::int64_t>(State::waits)) {
      continue;
    }
    seen.samples = std::min(seen.samples, (seen.stop - seen.time) / least_distance + 1);
    seen.state = static_cast<State>(state);
    seen.line = users.line_of(process, stack);
    seen.in_library = is_of_python(innermost.lines()[innermost.line_of(process, stack)].file);
    seen.holder = row.integer(8);
    families_[process][{row.integer(1), row.integer(2)}].push_back(seen);
  }
  for (auto& [process, family] : families_) {
    for (auto& [thread, its] : family) std::ranges::stable_sort(its, {}, &Seen::time);
    find_turns(process, family);
  }
}

// Calls take(time, sample) for each moment at which a thread was seen.
template <class Take>
void HostMoments::each_moment(const std::vector<Seen>& thread, const Take& take) {
  for (const Seen& seen : thread) {
    const std::int64_t step = (seen.stop - seen.time) / seen.samples;
    for (std::int64_t i = 0; i < seen.samples; ++i) {
      if (!take(seen.time + i * step, seen)) return;
    }
  }
}

void HostMoments::find_turns(std::int64_t process, const Family& family) {
  auto& turns = turns_[process].turns;
  for (const auto& [thread, its] : family) {
    if (thread.first != process) continue;
    each_moment(its, [&](std::int64_t time, const Seen&) {
      turns.push_back({.time = time});
      return turns.size() < most_moments;
    });
  }
  std::ranges::sort(turns, {}, &Turns::Turn::time);
}

HostMoments::Turns::Turn* HostMoments::Turns::at(std::int64_t time) {
  if (turns.empty() || time < turns.front().time) return nullptr;
  const auto is_it = [&](std::size_t i) {
    return turns[i].time <= time && (i + 1 == turns.size() || time < turns[i + 1].time);
  };
  if (!is_it(latest)) {
    const auto after = std::ranges::upper_bound(turns, time, {}, &Turn::time);
    latest = static_cast<std::size_t>(after - turns.begin()) - 1;
  }
  return &turns[latest];
}

void HostMoments::add_launch(std::int64_t process, std::int64_t thread, std::int64_t time) {
  const auto its = turns_.find(process);
  if (its == turns_.end()) return;
  ++launches_[{process, thread}];
  Turns::Turn* const turn = its->second.at(time);
  if (!turn || turn->launch <= time) return;
  turn->launch = time;
  turn->thread = thread;
}

const HostMoments::Seen* HostMoments::seen_at(const std::vector<Seen>& thread, std::int64_t time) {
  const auto after = std::ranges::upper_bound(thread, time, {}, &Seen::time);
  if (after == thread.begin()) return nullptr;
  const Seen& seen = *std::prev(after);
  return time < saturating_add(seen.stop, latest) ? &seen : nullptr;
}

void HostMoments::find(const std::function<void()>& check) {
  number_of("other lines");
  for (const auto& [process, family] : families_) find(process, family, check);
}

void HostMoments::find(std::int64_t process, const Family& family,
                       const std::function<void()>& check) {
  const ThreadKey* const most = busiest(process, family);
  if (!most) return;
  Turns& its_turns = turns_[process];
  std::vector<Turns::Turn>& turns = its_turns.turns;
  for (std::size_t i = turns.size(); i-- > 1;) {
    if (turns[i - 1].launch != INT64_MAX) continue;
    turns[i - 1].launch = turns[i].launch;
    turns[i - 1].thread = turns[i].thread;
  }
  std::vector<Moment>& moments = moments_[process];
  for (const auto& each : family) {
    const ThreadKey& thread = each.first;
    if (thread.first != process) continue;
    each_moment(each.second, [&](std::int64_t time, const Seen& seen) {
      check();
      const ThreadKey* who = most;
      const Turns::Turn* const turn = its_turns.at(time);
      if (turn && turn->launch != INT64_MAX) {
        const auto next = family.find({process, turn->thread});
        if (next != family.end()) who = &next->first;
      }
      if (thread == *who) {
        moments.push_back({time, cause_of(family, thread, seen, time, moments.size())});
      }
      return moments.size() < most_moments;
    });
  }
  std::ranges::stable_sort(moments, {}, &Moment::time);
}

// Of those that launch nothing, the first, which is the process's first thread as a rule. Null: no
// thread of the process was seen.
const HostMoments::ThreadKey* HostMoments::busiest(std::int64_t process,
                                                   const Family& family) const {
  const auto launches_of = [&](const ThreadKey& thread) -> std::int64_t {
    const auto known = launches_.find(thread);
    return known == launches_.end() ? 0 : known->second;
  };
  const ThreadKey* most = nullptr;
  for (const auto& [thread, its] : family) {
    if (thread.first != process) continue;
    if (!most || launches_of(thread) > launches_of(*most)) most = &thread;
  }
  return most;
}

std::uint32_t HostMoments::cause_of(const Family& family, const ThreadKey& who, const Seen& seen,
                                    std::int64_t time, std::size_t turn) {
  if (seen.waits_for_others()) {
    for (const bool run : {true, false}) {
      if (const auto cause = cause_of_others(family, who, time, turn, run)) return cause;
    }
  }
  if (seen.line == 0 && seen.can_run()) {
    for (const auto& [thread, its] : family) {
      const Seen* const other =
          thread.first == who.first && thread != who ? seen_at(its, time) : nullptr;
      if (!other || other->state != State::waits || other->line == 0) continue;
      return number_of(line_words(lines_[other->line]) + ", in a thread without Python");
    }
  }
  return number_of(words_of(family, who, seen, time));
}

// Of all that run, or of all that do not, the one whose turn it is; 0: there are none.
std::uint32_t HostMoments::cause_of_others(const Family& family, const ThreadKey& who,
                                           std::int64_t time, std::size_t turn, bool run) {
  std::vector<std::pair<const ThreadKey*, const Seen*>> others;
  for (const auto& [thread, its] : family) {
    const Seen* seen = thread == who ? nullptr : seen_at(its, time);
    if (seen && !seen->waits_for_others() && seen->line != 0 && seen->can_run() == run) {
      others.emplace_back(&thread, seen);
    }
  }
  if (others.empty()) return 0;
  const auto& [thread, seen] = others[turn % others.size()];
  return number_of(words_of(family, *thread, *seen, time) +
                   (thread->first == who.first ? " in another thread" : " in a child process"));
}

std::string HostMoments::words_of(const Family& family, const ThreadKey& who, const Seen& seen,
                                  std::int64_t time) const {
  const auto line_of = [this](const Seen& its) {
    return its.line == 0 ? std::string("no function of Python") : line_words(lines_[its.line]);
  };
  switch (seen.state) {
    case State::runs: return line_of(seen);
    case State::has_no_processor: return "waiting for a processor in " + line_of(seen);
    case State::sleeps: return "sleeping in " + line_of(seen);
    case State::waits: return "waiting in " + line_of(seen);
    case State::waits_for_lock: break;
  }
  const auto holder = family.find({who.first, seen.holder});
  const Seen* const its = holder == family.end() ? nullptr : seen_at(holder->second, time);
  return "waiting for the interpreter's lock" + (its ? ", held by " + line_of(*its) : "");
}

std::uint32_t HostMoments::number_of(std::string words) {
  const auto known = numbers_.find(words);
  if (known != numbers_.end()) return known->second;
  if (causes_.size() == most_causes) return 0;
  const auto number = static_cast<std::uint32_t>(causes_.size());
  causes_.push_back(words);
  numbers_.emplace(std::move(words), number);
  return number;
}

std::span<const HostMoments::Moment> HostMoments::of(std::int64_t process) const {
  const auto known = moments_.find(process);
  return known == moments_.end() ? std::span<const Moment>() : known->second;
}

}  // namespace gpuprof::compute
