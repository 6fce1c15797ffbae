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
  for (const char* column : {"processId", "ofProcess", "threadId", "time", "stop", "samples",
                             "state", "stack", "holder"}) {
    if (!database.has_column("HOST_SAMPLE", column)) return;
  }
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
  }
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
  // Those that launch nothing have 0; the first of these is the process's first thread, as a rule.
  const auto launches_of = [&](const ThreadKey& thread) -> std::int64_t {
    const auto known = launches_.find(thread);
    return known == launches_.end() ? 0 : known->second;
  };
  const ThreadKey* who = nullptr;
  for (const auto& [thread, its] : family) {
    if (thread.first == process && (!who || launches_of(thread) > launches_of(*who))) who = &thread;
  }
  if (!who) return;
  std::vector<Moment>& moments = moments_[process];
  for (const Seen& seen : family.at(*who)) {
    check();
    const std::int64_t step = (seen.stop - seen.time) / seen.samples;
    for (std::int64_t i = 0; i < seen.samples && moments.size() < most_moments; ++i) {
      const std::int64_t time = seen.time + i * step;
      moments.push_back({time, cause_of(family, *who, seen, time, moments.size())});
    }
  }
}

std::uint32_t HostMoments::cause_of(const Family& family, const ThreadKey& who, const Seen& seen,
                                    std::int64_t time, std::size_t turn) {
  if (seen.waits_for_others()) {
    for (const bool run : {true, false}) {
      if (const auto cause = cause_of_others(family, who, time, turn, run)) return cause;
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
