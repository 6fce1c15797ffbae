#include "libprof/read/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/read/one_number.hpp"

namespace gpuprof::reading {
namespace {

constexpr std::pair<std::string_view, std::string_view> kinds[] = {
    {"api", "API calls"},
    {"launches", "launches"},
    {"nvtx", "NVTX"},
    {"memory", "memory"},
    {"contexts", "contexts and modules"},
    {"flush", "flush"},
    {"samples", "CPU samples"},
};

std::int64_t statistic(store::Database& database, std::string_view name, std::string_view which) {
  return number(database,
                "SELECT CAST(total(max(value, 0)) AS INT) FROM main.STATISTIC WHERE name = '" +
                    std::string(name) + "' AND " + std::string(which))
      .value_or(0);
}

// Where CUPTI says what it took of the threads that called it: 131072 and so on are its
// instrumentation, resources, requests for buffers, and start-up of unified memory's tracing.
// Flushes are in gpuprof's own numbers.
constexpr std::string_view cupti_time =
    "SELECT CAST(total(max(\"end\" - start, 0)) AS INT) FROM main.CUPTI_ACTIVITY_KIND_OVERHEAD "
    "WHERE overheadKind IN (131072, 196608, 458752, 524288)";

constexpr std::string_view recorded_time =
    "SELECT CAST(total(max(till - since, 0)) AS INT) FROM (SELECT min(realtime) AS since, "
    "coalesce(max(CASE moment WHEN 'last' THEN realtime END), (SELECT CAST(value AS INT) FROM "
    "main.RUN WHERE key = 't1_realtime_ns'), max(realtime)) AS till FROM main.CLOCK GROUP BY "
    "processId)";

std::string seconds(std::int64_t ns) {
  char text[32];
  const double value = static_cast<double>(ns) * 1e-9;
  std::snprintf(text, sizeof text, value < 10 ? "%.2f s" : "%.1f s", value);
  return text;
}

std::string tenths(std::int64_t count) {
  return std::to_string(count / 10) + "." + std::to_string(count % 10);
}

// The parts in tenths of a percent of `whole`, so that they add up to the rounded sum: what is left
// after rounding down goes to the largest remainders.
std::vector<std::int64_t> in_tenths(const std::vector<Cost::Part>& parts, double whole) {
  std::vector<std::int64_t> result;
  std::vector<std::pair<double, std::size_t>> remainders;
  double sum = 0;
  std::int64_t left = 0;
  for (const Cost::Part& part : parts) {
    const double exact = 1000 * static_cast<double>(part.ns) / whole;
    const double down = std::floor(exact);
    sum += exact;
    left -= static_cast<std::int64_t>(down);
    remainders.emplace_back(down - exact, result.size());
    result.push_back(static_cast<std::int64_t>(down));
  }
  left += std::llround(sum);
  std::ranges::sort(remainders);
  for (const auto& [_, at] : remainders) {
    if (left-- <= 0) break;
    ++result[at];
  }
  return result;
}

}  // namespace

std::int64_t Cost::of_program() const {
  std::int64_t sum = 0;
  for (const Part& part : parts) sum = saturating_add(sum, part.ns);
  return sum;
}

Cost& Cost::operator+=(const Cost& other) {
  for (const Part& part : other.parts) {
    const auto same = std::ranges::find(parts, part.kind, &Part::kind);
    if (same == parts.end()) {
      parts.push_back(part);
    } else {
      same->ns = saturating_add(same->ns, part.ns);
    }
  }
  for (const auto member :
       {&Cost::recorded, &Cost::start, &Cost::end, &Cost::background, &Cost::sent, &Cost::arena}) {
    this->*member = saturating_add(this->*member, other.*member);
  }
  // One gpuprof writes all files.
  launcher = std::max(launcher, other.launcher);
  launcher_memory = std::max(launcher_memory, other.launcher_memory);
  return *this;
}

Cost read_cost(store::Database& database) {
  Cost cost;
  const auto add = [&cost](std::string_view kind, std::string_view name, std::int64_t ns) {
    if (ns > 0) cost.parts.push_back({std::string(kind), std::string(name), ns});
  };
  for (const auto& [kind, name] : kinds) {
    add(kind, name, statistic(database, "cost_ns", "kind = '" + std::string(kind) + "'"));
  }
  cost.start = statistic(database, "cost_ns", "kind = 'start'");
  cost.end = statistic(database, "cost_ns", "kind = 'end'");
  if (cost.start == 0) return {};  // no collector said anything
  add("cupti", "CUPTI's OVERHEAD", number(database, cupti_time).value_or(0));
  std::ranges::stable_sort(cost.parts, std::ranges::greater(), &Cost::Part::ns);
  cost.recorded = number(database, recorded_time).value_or(0);
  cost.background = statistic(database, "background_ns", "kind <> ''");
  cost.launcher = statistic(database, "background_ns", "kind = ''");
  cost.sent = statistic(database, "cost_bytes", "kind = 'sent'");
  cost.arena = statistic(database, "cost_bytes", "kind = 'arena'");
  cost.launcher_memory = statistic(database, "cost_bytes", "kind = ''");
  return cost;
}

std::string text_of(const Cost& cost) {
  const auto whole = static_cast<double>(std::max<std::int64_t>(cost.recorded, 1));
  const std::vector<std::int64_t> shares = in_tenths(cost.parts, whole);
  std::int64_t sum = 0;
  std::string parts;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum += shares[i];
    if (shares[i] > 0)
      parts += (parts.empty() ? "" : ", ") + cost.parts[i].name + " " + tenths(shares[i]);
  }
  return (sum > 0 ? tenths(sum) + " %" : std::string("less than 0.1 %")) + " of " +
         seconds(cost.recorded) + " in gpuprof's callbacks" +
         (parts.empty() ? "" : " (" + parts + ")") +
         ", and on top what CUPTI does in the driver's calls; start and end " +
         seconds(saturating_add(cost.start, cost.end)) + "; processor: collector " +
         seconds(cost.background) + ", gpuprof " + seconds(cost.launcher);
}

}  // namespace gpuprof::reading
