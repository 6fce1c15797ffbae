#include "libprof/store/counts.hpp"

#include <algorithm>
#include <array>

#include "libprof/wire/limits.hpp"

namespace gpuprof::store {
namespace {

constexpr schema::StatisticName stream_cut = "stream_cut";
constexpr schema::StatisticName budget_cuts = "budget_cuts";

// No real count is this high; sums of clamped values fit into 64 bits.
constexpr std::uint64_t highest_count = std::uint64_t{1} << 53;

std::int64_t counted(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min(value, highest_count));
}

// Whether a statistic counts missing records. The first exceptions describe problems of rows that
// exist; records_without_times counts those as well.
bool counts_missing(std::string_view name) {
  constexpr std::array<schema::StatisticName, 6> others{
      "incomplete_records", "strings_lost", "bytes_discarded",
      "not_profiled",       "stream_cut",   "cupti_second_client"};
  const schema::StatisticInfo* info = schema::find_statistic(name);
  return info && info->severity >= schema::Severity::data_loss &&
         std::ranges::find(others, name, &schema::StatisticName::name) == others.end();
}

}  // namespace

LoadTotals& LoadTotals::operator+=(const LoadTotals& other) {
  records += other.records;
  missing += other.missing;
  without_times += other.without_times;
  processes += other.processes;
  not_profiled += other.not_profiled;
  uncounted += other.uncounted;
  budget_cuts += other.budget_cuts;
  let_go += other.let_go;
  return *this;
}

void Counts::add(std::int64_t process_id, schema::StatisticName statistic, std::uint64_t more,
                 std::string_view kind) {
  add(process_id, kind, statistic.name(), more);
}

void Counts::add(std::int64_t process_id, std::string_view kind, std::string_view name,
                 std::uint64_t more) {
  change(process_id, kind, name, counted(more));
}

void Counts::set(Told& told, std::int64_t process_id, std::string_view kind, std::string_view name,
                 std::uint64_t value) {
  const std::int64_t now = counted(value);
  std::pair<std::string, std::string> key{kind, name};
  const auto known = told.find(key);
  if (known == told.end()) {
    if (told.size() >= wire::max_counted || kind.size() > wire::max_name ||
        name.size() > wire::max_name) {
      return add(process_id, left_out);
    }
    told.emplace(std::move(key), now);
    return change(process_id, kind, name, now);
  }
  const std::int64_t before = std::exchange(known->second, now);
  if (before != now) change(process_id, kind, name, now - before);
}

void Counts::set_own(schema::StatisticName statistic, std::uint64_t value) {
  const std::int64_t now = counted(value);
  const std::int64_t before = std::exchange(own_[std::string(statistic.name())], now);
  change(0, "", statistic.name(), now - before);
}

void Counts::change(std::int64_t process_id, std::string_view kind, std::string_view name,
                    std::int64_t difference) {
  const auto known = changes_.find(std::tuple(process_id, kind, name));
  if (known != changes_.end()) {
    known->second += difference;
  } else {
    changes_.emplace(Key(process_id, kind, name), difference);
  }
  const auto more = static_cast<std::uint64_t>(difference);
  if (name == records_received.name()) {
    totals_.records += more;
  } else if (name == records_without_times.name()) {
    totals_.without_times += more;
  } else if (name == not_profiled.name()) {
    totals_.not_profiled += more;
  } else if (name == stream_cut.name()) {
    totals_.uncounted += more;
  } else if (name == budget_cuts.name()) {
    totals_.budget_cuts += more;
  } else if (counts_missing(name)) {
    totals_.missing += more;
  }
}

void Counts::write() {
  if (changes_.empty()) return;
  Statement add = database_.prepare(
      "INSERT INTO STATISTIC(processId, kind, name, value, severity) "
      "VALUES(?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT(processId, kind, name) DO UPDATE SET value = value + excluded.value");
  for (const auto& [key, difference] : changes_) {
    const auto& [process_id, kind, name] = key;
    const schema::StatisticInfo* info = schema::find_statistic(name);
    add.bind(1, process_id)
        .bind(2, kind)
        .bind(3, name)
        .bind(4, difference)
        .bind(5, schema::severity_name(info ? info->severity : schema::unknown_severity))
        .run();
  }
  changes_.clear();
}

}  // namespace gpuprof::store
