#include "libprof/compute/launch_period.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

namespace gpuprof::compute {
namespace {

using Sequence = std::span<const std::int32_t>;

constexpr std::size_t most_processes = 4096;  // more have only forged files
constexpr std::size_t most_kinds = 1 << 16;   // of works; more are not looked at
constexpr std::size_t most_candidates = 64;   // lengths that are tried
constexpr std::int64_t samples = 1 << 18;     // places at which a length is tried
constexpr double as_good = 0.005;             // a shorter length may be less alike by this

// What a kernel, a copy in its direction, a set or the like is in a sequence.
std::int32_t kind_of(const GpuWork& work) {
  if (work.name != 0) return work.name;
  return -1 - work.kind * 256 - (work.direction == GpuWork::no_copy ? 0 : work.direction & 0xff);
}

// How often one kind of work comes after the same number of others.
struct Repeated {
  std::int64_t last = -1;
  std::int64_t distance = 0, votes = 0;  // the most frequent distance, if it is more than half
};

// Lengths after which kinds of work come again, those with most works first.
std::vector<std::int64_t> candidates(Sequence sequence) {
  std::unordered_map<std::int32_t, Repeated> kinds;
  for (std::int64_t i = 0; i < std::ssize(sequence); ++i) {
    const std::int32_t what = sequence[static_cast<std::size_t>(i)];
    if (kinds.size() == most_kinds && !kinds.contains(what)) continue;
    Repeated& its = kinds[what];
    if (its.last >= 0) {
      const std::int64_t distance = i - its.last;
      if (its.votes == 0) its.distance = distance;
      its.votes += its.distance == distance ? 1 : -1;
    }
    its.last = i;
  }
  std::map<std::int64_t, std::int64_t> votes;  // by distance
  const std::int64_t longest = std::ssize(sequence) / LaunchPeriod::least_steps;
  for (const auto& [what, its] : kinds) {
    if (its.distance < LaunchPeriod::least_length || its.distance > longest) continue;
    votes[its.distance] += its.votes;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> ranked;
  for (const auto& [distance, count] : votes) ranked.emplace_back(-count, distance);
  std::ranges::sort(ranked);
  std::vector<std::int64_t> lengths;
  for (const auto& [count, distance] : ranked) {
    if (lengths.size() < most_candidates) lengths.push_back(distance);
  }
  return lengths;
}

// The share of works that come again after that many, from a sample.
double alike_after(Sequence sequence, std::int64_t length) {
  const std::int64_t count = std::ssize(sequence) - length;
  const std::int64_t stride = std::max<std::int64_t>(count / samples, 1);
  std::int64_t equal = 0, tried = 0;
  for (std::int64_t i = 0; i < count; i += stride, ++tried) {
    const auto place = static_cast<std::size_t>(i);
    equal += sequence[place] == sequence[place + static_cast<std::size_t>(length)];
  }
  return tried == 0 ? 0 : static_cast<double>(equal) / static_cast<double>(tried);
}

// 0: there is none.
std::int64_t best_length(Sequence sequence) {
  std::vector<std::pair<std::int64_t, double>> tried;
  double best = 0;
  for (const std::int64_t length : candidates(sequence)) {
    tried.emplace_back(length, alike_after(sequence, length));
    best = std::max(best, tried.back().second);
  }
  std::ranges::sort(tried);
  for (const auto& [length, alike] : tried) {
    if (alike > 0 && alike >= best - as_good) return length;
  }
  return 0;
}

// The kind of work that steps begin with: of those that come once in most steps, the first one.
std::optional<std::int32_t> first_kind(Sequence sequence, std::int64_t length) {
  struct Kind {
    std::int64_t last = -1, first = -1, repeated = 0;
  };
  std::unordered_map<std::int32_t, Kind> kinds;
  for (std::int64_t i = 0; i < std::ssize(sequence); ++i) {
    const std::int32_t what = sequence[static_cast<std::size_t>(i)];
    if (kinds.size() == most_kinds && !kinds.contains(what)) continue;
    Kind& its = kinds[what];
    if (its.last >= 0 && i - its.last == length) {
      if (its.repeated++ == 0) its.first = its.last;
    }
    its.last = i;
  }
  std::int64_t most = 0;
  for (const auto& [what, its] : kinds) most = std::max(most, its.repeated);
  std::optional<std::pair<std::int64_t, std::int32_t>> first;
  for (const auto& [what, its] : kinds) {
    if (its.repeated == 0 || its.repeated < most - most / 20) continue;
    const std::pair candidate{its.first, what};
    if (!first || candidate < *first) first = candidate;
  }
  return first ? std::optional(first->second) : std::nullopt;
}

struct Periods {
  std::vector<std::int64_t> starts;  // places in the sequence; the last is where the last step ends
  std::vector<bool> go_on;           // by start: the next one is that of the next step
  std::int64_t count = 0, works = 0, equal = 0, compared = 0;
};

// Steps may be longer and shorter by half: a step may also log, or skip its update.
Periods periods_of(Sequence sequence, std::int64_t length, std::int32_t first) {
  Periods steps;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < std::ssize(sequence); ++i) {
    if (sequence[static_cast<std::size_t>(i)] == first) places.push_back(i);
  }
  const auto is_step = [&](std::size_t i) {
    if (i + 1 >= places.size()) return false;
    const std::int64_t its = places[i + 1] - places[i];
    return 2 * its >= length && 2 * its <= 3 * length;
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool ends_one = i > 0 && is_step(i - 1);
    if (!is_step(i) && !ends_one) continue;
    steps.starts.push_back(places[i]);
    steps.go_on.push_back(is_step(i));
    if (!is_step(i)) continue;
    const std::int64_t its = places[i + 1] - places[i];
    ++steps.count;
    steps.works += its;
    if (!ends_one) continue;
    steps.compared += its;
    const std::int64_t both = std::min(its, places[i] - places[i - 1]);
    for (std::int64_t work = 0; work < both; ++work) {
      steps.equal += sequence[static_cast<std::size_t>(places[i] + work)] ==
                     sequence[static_cast<std::size_t>(places[i - 1] + work)];
    }
  }
  return steps;
}

}  // namespace

void LaunchPeriod::add(const GpuWork& work) {
  const std::int64_t number = work.correlation >> 32;
  if (work.correlation == 0) return;
  if (processes_.size() == most_processes && !processes_.contains(number)) return;
  Process& process = processes_[number];
  process.id = work.process;
  if (++process.works <= most_works) launches_.add({work.correlation, work.begin, kind_of(work)});
}

std::optional<LaunchPeriod::Found> LaunchPeriod::find() {
  const auto most = std::ranges::max_element(
      processes_, {}, [](const auto& process) { return process.second.works; });
  if (most == processes_.end() || most->second.works > most_works ||
      most->second.works < least_length * least_steps) {
    return std::nullopt;
  }
  std::vector<std::int32_t> sequence;
  sequence.reserve(static_cast<std::size_t>(most->second.works));
  const auto for_each = [&](const auto& visit) {
    launches_.for_each([&](const Launch& launch) {
      if (launch.correlation >> 32 == most->first) visit(launch);
    });
  };
  for_each([&](const Launch& launch) { sequence.push_back(launch.what); });
  const std::int64_t length = best_length(sequence);
  const auto first = length == 0 ? std::nullopt : first_kind(sequence, length);
  if (!first) return std::nullopt;
  const Periods steps = periods_of(sequence, length, *first);
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  Found found{
      .process = most->second.id, .length = length, .alike = share(steps.equal, steps.compared)};
  // Layers of a step are followed by something else once in a step.
  const auto pauses = std::ranges::count(steps.go_on, false) - 1;
  if (steps.count < least_steps || pauses * least_steps_in_a_row > steps.count ||
      steps.count > most_steps || found.alike < least_alike ||
      share(steps.works, std::ssize(sequence)) < least_coverage) {
    return std::nullopt;
  }
  std::int64_t place = 0;
  std::size_t next = 0;
  for_each([&](const Launch& launch) {
    if (next < steps.starts.size() && steps.starts[next] == place) {
      found.starts.push_back({launch.correlation, launch.begin, steps.go_on[next]});
      ++next;
    }
    ++place;
  });
  return found;
}

}  // namespace gpuprof::compute
