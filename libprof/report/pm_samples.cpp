#include "libprof/report/pm_samples.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "libprof/base/saturating.hpp"
#include "libprof/base/time_spans.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::report {
namespace {

bool is_time(std::int64_t begin, std::int64_t end) { return begin > 0 && end > begin; }

double length(std::int64_t begin, std::int64_t end) { return static_cast<double>(end - begin); }

std::string value_column(const PmMetric& metric) { return "v" + std::to_string(metric.place); }

void sort_by_time(std::vector<PmGroup>& groups) {
  for (PmGroup& group : groups) {
    unite(group.intervals);
    for (const PmInterval& each : group.intervals) {
      group.time = saturating_add(group.time, each.end - each.begin);
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &PmGroup::time);
}

using GroupMap = std::map<std::pair<std::int64_t, std::int64_t>, PmGroup>;

void add(GroupMap& groups, std::int64_t device, std::int64_t name, PmInterval interval) {
  PmGroup& group = groups[{device, name}];
  group.device = device;
  group.name = name;
  ++group.count;
  group.intervals.push_back(interval);
}

std::vector<PmGroup> sorted(GroupMap&& map) {
  std::vector<PmGroup> groups;
  for (auto& [place, group] : map) groups.push_back(std::move(group));
  sort_by_time(groups);
  return groups;
}

// Whether --devices includes the device.
bool wants_device(Session& session, std::int64_t device) {
  const auto& wanted = session.options().filter.devices;
  return wanted.empty() || std::ranges::find(wanted, device) != wanted.end();
}

}  // namespace

std::vector<PmMetric> pm_metrics(Session& session) {
  std::vector<PmMetric> metrics;
  if (!session.database().has_columns("PM_METRIC", {"_id_", "name", "unit", "part", "place"}))
    return metrics;
  auto rows =
      session.database().prepare("SELECT name, unit, part, place FROM PM_METRIC ORDER BY _id_");
  while (rows.step()) {
    PmMetric metric{.name = std::string(rows.text(0)),
                    .unit = std::string(rows.text(1)),
                    .part = rows.integer(2),
                    .place = rows.integer(3)};
    if (metric.place < 1 || metric.place > std::int64_t{schema::pm_values_per_row}) continue;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

std::optional<PmStatistics> pm_statistics(std::vector<WeightedValue>& values) {
  std::erase_if(values, [](const WeightedValue& each) {
    return std::isnan(each.value) || !(each.weight > 0);
  });
  if (values.empty()) return {};
  std::ranges::sort(values, std::ranges::less(), &WeightedValue::value);
  double weight = 0, sum = 0;
  for (const WeightedValue& each : values) {
    weight += each.weight;
    sum += each.value * each.weight;
  }
  PmStatistics statistics{.mean = sum / weight, .max = values.back().value};
  std::size_t at = 0;
  double until = values[0].weight;
  const auto percentile = [&](double percent) {
    while (at + 1 < values.size() && until * 100 < percent * weight) until += values[++at].weight;
    return values[at].value;
  };
  statistics.p50 = percentile(50);
  statistics.p90 = percentile(90);
  statistics.p99 = percentile(99);
  return statistics;
}

std::map<std::int64_t, PmValues> read_pm_values(Session& session, const PmMetric& metric) {
  std::map<std::int64_t, PmValues> devices;
  const auto wanted = session.wanted_rows(schema::PmSample::table.name);
  if (!wanted) return devices;
  session.output().progress("reading PM_SAMPLE");
  columns::Reader reader(session.snapshot(),
                         {.table = std::string(schema::PmSample::table.name),
                          .columns = {"deviceId", "start", "stop", "part", value_column(metric)},
                          .filter = *wanted});
  reader.read([&](const columns::Chunk& chunk) {
    const auto device = chunk[0].int64s(), start = chunk[1].int64s(), stop = chunk[2].int64s(),
               part = chunk[3].int64s();
    const auto value = chunk[4].doubles();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (part[row] != metric.part) continue;
      if (!is_time(start[row], stop[row])) {
        if (metric.place == 1) session.skip("PM_SAMPLE with impossible times");
        continue;
      }
      if (chunk[4].is_null(row) || std::isnan(value[row])) continue;
      devices[device[row]].push_back({start[row], stop[row], value[row]});
    }
  });
  for (auto& [device, values] : devices) {
    const auto by_start = [](const PmValue& a, const PmValue& b) { return a.start < b.start; };
    if (!std::ranges::is_sorted(values, by_start)) std::ranges::stable_sort(values, by_start);
    std::int64_t until = 0;
    for (PmValue& each : values) {
      each.start = std::max(each.start, until);
      until = std::max(until, each.stop);
    }
    std::erase_if(values, [](const PmValue& each) { return each.stop <= each.start; });
  }
  return devices;
}

std::vector<WeightedValue> values_within(const PmValues& values,
                                         std::span<const PmInterval> intervals) {
  std::vector<WeightedValue> within;
  for (const PmInterval& each : intervals) {
    auto value = std::ranges::upper_bound(values, each.begin, std::ranges::less(), &PmValue::stop);
    for (; value != values.end() && value->start < each.end; ++value) {
      within.push_back({value->value, length(std::max(each.begin, value->start),
                                             std::min(each.end, value->stop))});
    }
  }
  return within;
}

std::vector<double> means_over_time(const PmValues& values, std::size_t parts) {
  std::vector<double> sums(parts), weights(parts);
  if (values.empty()) return std::vector<double>(parts, std::numeric_limits<double>::quiet_NaN());
  const std::int64_t first = values.front().start;
  const double width = length(first, values.back().stop) / static_cast<double>(parts);
  for (const PmValue& each : values) {
    const double begin = length(first, each.start), end = length(first, each.stop);
    auto part = std::min(static_cast<std::size_t>(begin / width), parts - 1);
    for (; part < parts; ++part) {
      const double from = static_cast<double>(part) * width;
      if (from >= end) break;
      const double weight = std::min(end, from + width) - std::max(begin, from);
      if (!(weight > 0)) continue;
      sums[part] += each.value * weight;
      weights[part] += weight;
    }
  }
  for (std::size_t i = 0; i < parts; ++i) {
    sums[i] = weights[i] > 0 ? sums[i] / weights[i] : std::numeric_limits<double>::quiet_NaN();
  }
  return sums;
}

std::vector<PmGroup> pm_ranges(Session& session) {
  GroupMap groups;
  if (session.database().has_columns("RANGE_TIME", {"range", "deviceId", "first", "last"}) &&
      session.database().has_columns("NVTX_PATH", {"range", "path"})) {
    auto rows = session.database().prepare(
        "SELECT t.deviceId, t.first, t.last, w.path FROM RANGE_TIME AS t "
        "JOIN NVTX_PATH AS w ON w.range = t.range");
    while (rows.step()) {
      const std::int64_t device = rows.integer(0), first = rows.integer(1), last = rows.integer(2);
      if (!is_time(first, last) || !wants_device(session, device)) continue;
      add(groups, device, rows.integer(3), {first, last});
    }
  }
  return sorted(std::move(groups));
}

namespace {

// Visits the device, name, start, end and value of each row.
template <class Visit>
void visit_kernels(Session& session, std::int64_t part, const std::string& value, Visit visit) {
  if (!session.database().has_columns("PM_KERNEL",
                                      {"deviceId", "name", "start", "stop", "part", value})) {
    return;
  }
  const auto wanted = session.wanted_rows("CONCURRENT_KERNEL");
  if (!wanted) return;
  std::vector<std::int64_t> names = wanted->names.value_or(std::vector<std::int64_t>());
  std::ranges::sort(names);
  const columns::Condition time(wanted->from, wanted->to);
  const bool timed = wanted->from || wanted->to;
  auto rows = session.database().prepare("SELECT deviceId, name, start, stop, " + value +
                                         " FROM PM_KERNEL WHERE part = ?1");
  rows.bind(1, part);
  while (rows.step()) {
    const std::int64_t device = rows.integer(0), name = rows.integer(1), start = rows.integer(2),
                       stop = rows.integer(3);
    if (!is_time(start, stop) || rows.is_null(4) || !wants_device(session, device)) continue;
    if (wanted->names && !std::ranges::binary_search(names, name)) continue;
    if (timed && !time.accepts(start)) continue;
    visit(device, name, PmInterval{start, stop}, rows.real(4));
  }
}

}  // namespace

std::vector<PmGroup> pm_kernels(Session& session) {
  GroupMap groups;
  // A kernel that has values of one part has values of all.
  visit_kernels(session, 0, "samples",
                [&](std::int64_t device, std::int64_t name, const PmInterval& interval, double) {
                  add(groups, device, name, interval);
                });
  return sorted(std::move(groups));
}

std::map<std::pair<std::int64_t, std::int64_t>, std::vector<WeightedValue>> read_pm_kernels(
    Session& session, const PmMetric& metric) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<WeightedValue>> kernels;
  visit_kernels(session, metric.part, value_column(metric),
                [&](std::int64_t device, std::int64_t name, const PmInterval& each, double value) {
                  kernels[{device, name}].push_back({value, length(each.begin, each.end)});
                });
  return kernels;
}

std::map<std::int64_t, PmGaps> pm_gaps(Session& session) {
  std::map<std::int64_t, PmGaps> devices;
  if (!session.database().has_columns("PM_GAP", {"deviceId", "start", "stop", "reason"}))
    return devices;
  auto rows = session.database().prepare("SELECT deviceId, start, stop, reason FROM PM_GAP");
  while (rows.step()) {
    if (!wants_device(session, rows.integer(0))) continue;
    PmGaps& gaps = devices[rows.integer(0)];
    ++gaps.count;
    ++gaps.by_reason[std::string(rows.text(3))];
    if (is_time(rows.integer(1), rows.integer(2))) {
      gaps.time = saturating_add(gaps.time, rows.integer(2) - rows.integer(1));
    } else {
      ++gaps.unknown;
    }
  }
  return devices;
}

}  // namespace gpuprof::report
