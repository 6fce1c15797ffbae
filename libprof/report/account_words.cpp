// An account in words.
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "libprof/report/account.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::report {
namespace {

// Shares of a GPU's time from which on it is hardly used, or does one thing for most of it.
constexpr double hardly = 0.1, mostly = 0.5, mostly_computing = 0.9;

// The GPU was idle between works.
bool is_gap(const AccountRow& row) {
  return !is_work(row) && row.what != "before" && row.what != "after";
}

std::string gap_words(const AccountRow& row) {
  const std::string& cause = row.cause;
  if (row.what == "no call") {
    return "the host in no call of CUDA" + (cause.empty() ? "" : ": " + cause);
  }
  if (row.what == "unknown") return "the host's calls not recorded";
  if (row.what == "short gap") return "in short gaps";
  if (row.what == "launch" && cause.empty()) return "the host between launches";
  if (row.what == "launch") return "the host launching with " + cause;
  if (row.what == "queued") {
    return "work waiting in its stream" + (cause.empty() ? "" : ", " + cause);
  }
  return "the host in " + (cause.empty() ? "other calls" : cause);
}

// Several rows of a class, of which this is the longest.
std::string class_words(const AccountRow& longest) {
  if (longest.what == "launch") return "the host launching work";
  if (longest.what == "queued") return "work waiting in its stream";
  if (longest.what == "no call") {
    return "the host in no call of CUDA, above all " +
           (longest.cause.empty() ? "not in Python" : longest.cause);
  }
  return "the host in calls of CUDA, above all " +
         (longest.cause.empty() ? "others" : longest.cause);
}

std::int64_t time_of(const GpuAccount& gpu, std::string_view what) {
  std::int64_t time = 0;
  for (const AccountRow& row : gpu.rows) time += row.what == what ? row.duration : 0;
  return time;
}

// From the first work to the last.
std::int64_t span_of(const GpuAccount& gpu) {
  std::int64_t time = 0;
  for (const AccountRow& row : gpu.rows) time += is_work(row) || is_gap(row) ? row.duration : 0;
  return time;
}

// "3.758 s": a sentence has no room for all digits.
std::string short_time(std::int64_t ns) {
  auto time = static_cast<double>(ns);
  const char* unit = "ns";
  for (const char* next : {"us", "ms", "s"}) {
    if (time < 1000) break;
    time /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", time, unit);
  return text;
}

// The class with most idle time, in words.
std::string mostly_words(const GpuAccount& gpu, std::int64_t span) {
  std::pair<std::int64_t, const AccountRow*> most{0, nullptr};
  for (const AccountRow& row : gpu.rows) {  // the longest comes first
    if (!is_gap(row)) continue;
    if (const std::int64_t time = time_of(gpu, row.what); time > most.first) most = {time, &row};
  }
  if (!most.second) return "";
  const AccountRow& longest = *most.second;
  return std::string(", for the most part ") + (longest.what == "short gap" ? "" : "with ") +
         (longest.duration == most.first ? gap_words(longest) : class_words(longest)) + " (" +
         share_words(most.first, span) + ")";
}

}  // namespace

bool is_work(const AccountRow& row) {
  return row.what == "compute" || row.what == "communication" || row.what == "copy" ||
         row.what == "set";
}

std::string share_words(std::int64_t part, std::int64_t whole) {
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.1) return "less than 0.1 %";
  if (part < whole && percent > 99.9) return "more than 99.9 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", percent);
  return text;
}

std::string words_of(const AccountRow& row) {
  if (row.what == "compute") return "computed";
  if (row.what == "communication") return "communicated only";
  if (row.what == "copy") return "copied only, " + row.cause;
  if (row.what == "set") return "set memory only";
  if (row.what == "unknown") return "was idle, the host's calls were not recorded";
  if (is_gap(row)) return "was idle, " + gap_words(row);
  return "was idle " + row.what + " its " + (row.what == "before" ? "first" : "last") + " work";
}

std::string verdict_of(const GpuAccount& gpu) {
  const std::int64_t span = span_of(gpu);
  if (span == 0) return "";
  const std::int64_t compute = time_of(gpu, "compute"), copy = time_of(gpu, "copy");
  std::int64_t idle = span - compute;
  std::string did;
  for (const auto& [what, word] : {std::pair{"communication", "communicated"},
                                   std::pair{"copy", "copied"}, std::pair{"set", "set memory"}}) {
    const std::int64_t time = time_of(gpu, what);
    if (time == 0) continue;
    idle -= time;
    did += std::string(", ") + word + " in " + share_words(time, span);
  }
  const auto share = [&](std::int64_t time) {
    return static_cast<double>(time) / static_cast<double>(span);
  };
  const char* const is = share(idle) > 1 - hardly            ? " is hardly used"
                         : share(idle) > mostly              ? " is idle for most of the time"
                         : share(copy) > mostly              ? " copies for most of the time"
                         : share(compute) > mostly_computing ? " computes for most of the time"
                                                             : " is in use";
  return gpu.name + is + ": of the " + short_time(span) +
         " from its first work to its last it computed in " + share_words(compute, span) + did +
         " and was idle in " + share_words(idle, span) + mostly_words(gpu, span) + ".";
}

std::string verdict_of(const TimeAccount& account) {
  const auto least = std::ranges::min_element(
      account.gpus, {}, [](const GpuAccount& gpu) { return time_of(gpu, "compute"); });
  if (least == account.gpus.end()) return "";
  std::string text = verdict_of(*least);
  if (!text.empty() && account.gpus.size() > 1) {
    text += " Of " + std::to_string(account.gpus.size()) + " GPUs it computed least.";
  }
  return text;
}

}  // namespace gpuprof::report
