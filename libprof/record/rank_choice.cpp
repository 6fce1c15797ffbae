#include "libprof/record/rank_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "libprof/base/text.hpp"
#include "libprof/wire/job.hpp"

namespace gpuprof::record {
namespace {

constexpr std::int64_t most = 1'000'000'000;

std::optional<std::int64_t> number_of(std::string_view text, std::int64_t least) {
  const auto number = parse<std::int64_t>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

}  // namespace

std::optional<RankChoice::Range> RankChoice::range_of(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  Range range;
  if (parts.size() > 3) return std::nullopt;
  if (parts.size() == 1 || !parts[0].empty()) {
    const auto first = number_of(parts[0], 0);
    if (!first) return std::nullopt;
    range.first = *first;
  }
  if (parts.size() == 1) range.end = range.first + 1;
  if (parts.size() > 1 && !parts[1].empty()) {
    range.end = number_of(parts[1], 0);
    if (!range.end) return std::nullopt;
  }
  if (parts.size() > 2 && !parts[2].empty()) {
    const auto step = number_of(parts[2], 1);
    if (!step) return std::nullopt;
    range.step = *step;
  }
  return range;
}

std::optional<RankChoice> RankChoice::parsed(std::string_view text) {
  RankChoice choice;
  for (const std::string& word : split(text, ',')) {
    const auto range = range_of(word);
    if (!range) return std::nullopt;
    choice.ranges_.push_back(*range);
  }
  return choice;
}

bool RankChoice::has(std::int64_t rank) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return rank >= range.first && (!range.end || rank < *range.end) &&
           (rank - range.first) % range.step == 0;
  });
}

std::optional<std::int64_t> rank_of_this_process() {
  const auto value = [](std::string_view name) -> std::optional<std::int64_t> {
    const char* const text = std::getenv(std::string(name).c_str());
    return text ? number_of(text, 0) : std::nullopt;
  };
  for (const wire::JobLauncher& launcher : wire::job_launchers) {
    if (const auto rank = value(launcher.rank)) return rank;
  }
  return value("LOCAL_RANK");
}

}  // namespace gpuprof::record
