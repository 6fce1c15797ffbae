#include "libprof/report/prometheus.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/account.hpp"
#include "schema/enums.hpp"
#include "schema/step_names.hpp"

namespace gpuprof::report {
namespace {

// A record comes no later than this after its start, unless it is a kernel that runs as long.
constexpr std::int64_t latest_arrival = 120'000'000'000;
constexpr std::size_t most_kernels = 100, most_steps = 10, most_collectives = 20;
constexpr std::size_t most_open = 100'000;
constexpr std::size_t longest_label = 200;  // bytes
constexpr int most_of_rest = 60;            // series of losses and records, which come last

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : printable(beginning_of(text, longest_label))) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

std::string number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

// All digits.
std::string in_seconds(std::int64_t ns) {
  constexpr std::int64_t second = 1'000'000'000;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%s%" PRId64 ".%09" PRId64, ns < 0 ? "-" : "",
                std::abs(ns / second), std::abs(ns % second));
  return text.data();
}

}  // namespace

// The head is written with the first series.
class Prometheus::Family {
 public:
  Family(Prometheus& page, std::string_view name, std::string_view help,
         std::string_view type = "gauge")
      : page_(page), name_(name), help_(help), type_(type) {}

  void add(const Labels& labels, const std::string& value, std::string_view suffix = {}) {
    if (page_.series_ >= most_series - 1) {
      ++page_.left_out_;
      return;
    }
    std::string& text = page_.text_;
    if (!std::exchange(begun_, true)) {
      text += "# HELP " + name_ + " " + help_ + "\n# TYPE " + name_ + " " + type_ + "\n";
    }
    ++page_.series_;
    text += name_;
    text += suffix;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text += i == 0 ? "{" : ",";
      text += std::string(labels[i].first) + "=\"" + label_value(labels[i].second) + "\"";
    }
    text += (labels.empty() ? " " : "} ") + value + "\n";
  }

 private:
  Prometheus& page_;
  const std::string name_, help_, type_;
  bool begun_ = false;
};

std::string Prometheus::text(store::Database& database, const LatestWindow::Times& window,
                             const std::function<void()>& check) {
  database_ = &database;
  from_ = window.from;
  to_ = window.to;
  text_.clear();
  series_ = left_out_ = 0;
  add_window();
  if (to_ > from_) {
    add_account(check);
    add_steps();
    add_collectives();
    add_copies();
    add_sets();
    check();
    add_kernels();
  }
  add_totals();
  if (left_out_ > 0) {
    text_ += "# TYPE gpuprof_series_left_out gauge\ngpuprof_series_left_out " +
             std::to_string(left_out_) + "\n";
  }
  note_rows();
  database_ = nullptr;
  return std::move(text_);
}

// The rows of a table up to this one are older than the window.
std::int64_t Prometheus::after(const std::string& table) const {
  std::int64_t row = 0;
  for (const Mark& mark : marks_) {
    if (mark.to > from_ - latest_arrival) break;
    const auto known = mark.last.find(table);
    if (known != mark.last.end()) row = known->second;
  }
  return row;
}

void Prometheus::note_rows() {
  Mark mark{to_, {}};
  for (const auto& kind : {"CONCURRENT_KERNEL", "KERNEL", "MEMCPY", "MEMSET", "MARKER"}) {
    const std::string table = reading::table_name(kind);
    if (!database_->has_column(table, "_id_")) continue;
    const std::int64_t last = database_->integer("SELECT max(_id_) FROM main." + table).value_or(0);
    mark.last[table] = last;
    // A ring that was emptied numbers its rows from 1 again.
    for (Mark& earlier : marks_) {
      auto& its = earlier.last[table];
      if (its > last) its = 0;
    }
  }
  marks_.push_back(std::move(mark));
  while (marks_.size() > 2 && marks_[1].to <= from_ - latest_arrival) marks_.pop_front();
}

void Prometheus::add_window() {
  Family(*this, "gpuprof_window_seconds", "Length of the window that all gauges are of.")
      .add({}, in_seconds(to_ - from_));
  Family(*this, "gpuprof_window_start_ns", "When it begins, on CUPTI's clock.")
      .add({}, std::to_string(from_));
  Family(*this, "gpuprof_window_end_ns", "When it ends: after the latest record.")
      .add({}, std::to_string(to_));
}

void Prometheus::add_account(const std::function<void()>& check) {
  const TimeAccount account = read_account(*database_, {.from = from_, .to = to_}, check);
  Family family(*this, "gpuprof_account_seconds",
                "Where the time of each GPU went; the classes of a device add up to the window.");
  for (const GpuAccount& gpu : account.gpus) {
    std::map<std::string, std::int64_t> classes;
    for (const AccountRow& row : gpu.rows) classes[row.what] += row.duration;
    for (const auto& [what, ns] : classes) {
      family.add({{"device", std::to_string(gpu.id)}, {"class", what}}, in_seconds(ns));
    }
  }
}

// Rows that begin in the window and have times.
store::Statement Prometheus::rows_in_window(const std::string& select, const std::string& table,
                                            const std::string& group) {
  store::Statement rows = database_->prepare(
      "SELECT " + select + " FROM main." + table +
      " WHERE _id_ > ?1 AND start >= ?2 AND start < ?3 AND \"end\" > 0 GROUP BY " + group);
  rows.bind(1, after(table)).bind(2, from_).bind(3, to_);
  return rows;
}

void Prometheus::add_kernels() {
  std::map<std::pair<std::int64_t, std::string>, Sum> sums;
  for (const std::string& table :
       {reading::table_name("CONCURRENT_KERNEL"), reading::table_name("KERNEL")}) {
    if (!database_->has_column(table, "_id_")) continue;
    const char* short_name = database_->has_column("StringTable", "short")
                                 ? "coalesce(short, demangled, value)"
                                 : "value";
    store::Statement rows = rows_in_window("deviceId, count(*), sum(\"end\" - start), (SELECT " +
                                               std::string(short_name) +
                                               " FROM main.StringTable AS s WHERE s._id_ = name)",
                                           table, "deviceId, name");
    while (rows.step()) {
      Sum& sum = sums[{rows.integer(0), std::string(rows.text(3))}];
      sum.count += rows.integer(1);
      sum.ns += rows.integer(2);
    }
  }
  std::vector<std::pair<std::pair<std::int64_t, std::string>, Sum>> sorted(sums.begin(),
                                                                           sums.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& each) { return each.second.ns; });
  std::map<std::int64_t, Sum> rest;  // by device
  const auto room =
      static_cast<std::size_t>(std::max(0, (most_series - series_ - most_of_rest) / 2));
  const std::size_t most = std::min(most_kernels, room);
  for (std::size_t i = most; i < sorted.size(); ++i) {
    Sum& sum = rest[sorted[i].first.first];
    sum.count += sorted[i].second.count;
    sum.ns += sorted[i].second.ns;
  }
  sorted.resize(std::min(sorted.size(), most));
  for (const auto& [device, sum] : rest) sorted.push_back({{device, "(others)"}, sum});
  Family time(*this, "gpuprof_kernel_seconds", "Durations of kernels summed up, by function.");
  for (const auto& [key, sum] : sorted) {
    time.add({{"device", std::to_string(key.first)}, {"kernel", key.second}}, in_seconds(sum.ns));
  }
  Family count(*this, "gpuprof_kernels", "How many kernels began, by function.");
  for (const auto& [key, sum] : sorted) {
    count.add({{"device", std::to_string(key.first)}, {"kernel", key.second}},
              std::to_string(sum.count));
  }
}

void Prometheus::add_copies() {
  const std::string table = reading::table_name("MEMCPY");
  if (!database_->has_column(table, "_id_")) return;
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> sums;
  store::Statement rows =
      rows_in_window("deviceId, copyKind, count(*), sum(\"end\" - start), sum(bytes)", table,
                     "deviceId, copyKind");
  while (rows.step()) {
    sums[{rows.integer(0), rows.integer(1)}] = {rows.integer(2), rows.integer(3), rows.integer(4)};
  }
  const auto labels = [](const auto& key) -> Labels {
    const std::string kind(schema::enum_name("CUpti_ActivityMemcpyKind", key.second));
    return {{"device", std::to_string(key.first)},
            {"kind", kind.empty() ? std::to_string(key.second) : kind}};
  };
  Family time(*this, "gpuprof_copy_seconds", "Durations of copies summed up, by direction.");
  for (const auto& [key, sum] : sums) time.add(labels(key), in_seconds(sum.ns));
  Family bytes(*this, "gpuprof_copy_bytes", "What they copied.");
  for (const auto& [key, sum] : sums) bytes.add(labels(key), std::to_string(sum.bytes));
}

void Prometheus::add_sets() {
  const std::string table = reading::table_name("MEMSET");
  if (!database_->has_column(table, "_id_")) return;
  store::Statement rows = rows_in_window("deviceId, sum(\"end\" - start)", table, "deviceId");
  Family time(*this, "gpuprof_set_seconds", "Durations of setting memory summed up.");
  while (rows.step()) {
    time.add({{"device", std::to_string(rows.integer(0))}}, in_seconds(rows.integer(1)));
  }
}

// NVTX ranges that are steps, and both begin in the window and have ended.
void Prometheus::add_steps() {
  const std::string table = reading::table_name("MARKER");
  if (!database_->has_column(table, "_id_") || !database_->has_table("RUN")) return;
  if (!step_names_) step_names_.emplace(*database_);
  constexpr std::int64_t start_flag = 2, end_flag = 4;
  std::unordered_map<std::int64_t, std::string> names;  // empty: no step
  const auto name_of = [&](std::int64_t string) -> const std::string& {
    const auto [found, is_new] = names.try_emplace(string);
    if (!is_new) return found->second;
    store::Statement text =
        database_->prepare("SELECT value FROM main.StringTable WHERE _id_ = ?1");
    text.bind(1, string);
    if (!text.step()) return found->second;
    const std::string name(text.text(0));
    if (step_names_->has(name)) found->second = schema::without_number(name);
    return found->second;
  };
  struct Open {
    std::string name;
    std::int64_t start;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Open> open;  // by process and id
  std::map<std::string, std::vector<std::int64_t>> durations;
  store::Statement rows =
      database_->prepare("SELECT flags, timestamp, processId, id, name FROM main." + table +
                         " WHERE _id_ > ?1 AND timestamp >= ?2");
  rows.bind(1, after(table)).bind(2, from_);
  while (rows.step()) {
    const std::pair key{rows.integer(2), rows.integer(3)};
    const std::int64_t flags = rows.integer(0), time = rows.integer(1);
    if (flags & start_flag) {
      const std::string& name = name_of(rows.integer(4));
      if (!name.empty() && time < to_ && open.size() < most_open) open[key] = {name, time};
    } else if (flags & end_flag) {
      const auto found = open.find(key);
      if (found == open.end()) continue;
      durations[found->second.name].push_back(time - found->second.start);
      open.erase(found);
    }
  }
  Family family(*this, "gpuprof_step_seconds", "How long steps took on the host, by name.",
                "summary");
  std::size_t shown = 0;
  for (auto& [name, its] : durations) {
    if (++shown > most_steps) break;
    std::ranges::sort(its);
    std::int64_t sum = 0;
    for (const std::int64_t each : its) sum += each;
    for (const auto& [text, quantile] : {std::pair{"0.5", 0.5}, {"0.9", 0.9}, {"1", 1.0}}) {
      // The least that is not exceeded by this share (nearest rank).
      const auto rank =
          static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(its.size())));
      family.add({{"name", name}, {"quantile", text}},
                 in_seconds(its[std::max<std::size_t>(rank, 1) - 1]));
    }
    family.add({{"name", name}}, in_seconds(sum), "_sum");
    family.add({{"name", name}}, std::to_string(its.size()), "_count");
  }
}

// Where the program uses NCCL.
void Prometheus::add_collectives() {
  if (!database_->has_table("collectives")) return;
  store::Statement rows = database_->prepare(
      "SELECT function, count(*), avg(bus_bandwidth), sum(duration) FROM collectives "
      "WHERE start >= ?1 AND start < ?2 GROUP BY function ORDER BY 4 DESC LIMIT " +
      std::to_string(most_collectives));
  rows.bind(1, from_).bind(2, to_);
  struct Row {
    std::string function;
    std::int64_t count;
    std::optional<double> bandwidth;
    std::int64_t ns;
  };
  std::vector<Row> all;
  while (rows.step()) {
    all.push_back({std::string(rows.text(0)), rows.integer(1),
                   rows.is_null(2) ? std::nullopt : std::optional(rows.real(2)), rows.integer(3)});
  }
  Family count(*this, "gpuprof_collectives", "Operations of NCCL whose kernels began.");
  for (const Row& row : all) count.add({{"function", row.function}}, std::to_string(row.count));
  Family time(*this, "gpuprof_collective_seconds", "Durations of their kernels summed up.");
  for (const Row& row : all) time.add({{"function", row.function}}, in_seconds(row.ns));
  Family bandwidth(*this, "gpuprof_collective_bus_bytes_per_second",
                   "Mean bus bandwidth, as NCCL's tests compute it.");
  for (const Row& row : all) {
    if (row.bandwidth) bandwidth.add({{"function", row.function}}, number(*row.bandwidth));
  }
}

// Of the whole recording.
void Prometheus::add_totals() {
  if (!database_->has_table("STATISTIC")) return;
  Family losses(*this, "gpuprof_losses_total",
                "What is missing from the recording since its beginning, as the view losses.",
                "counter");
  store::Statement lost = database_->prepare(
      "SELECT name, sum(value) FROM STATISTIC WHERE value > 0 AND severity IN ('data_loss', "
      "'error') "
      "GROUP BY name ORDER BY name LIMIT 20");
  while (lost.step())
    losses.add({{"name", std::string(lost.text(0))}}, std::to_string(lost.integer(1)));
  Family records(*this, "gpuprof_records_total", "Records that came since its beginning, by kind.",
                 "counter");
  store::Statement came = database_->prepare(
      "SELECT kind, sum(value) FROM STATISTIC WHERE name = 'records_received' AND kind <> '' "
      "GROUP BY kind ORDER BY 2 DESC LIMIT 35");
  while (came.step()) {
    const std::string_view kind = reading::kind_of(came.text(0));
    records.add({{"kind", std::string(kind.empty() ? came.text(0) : kind)}},
                std::to_string(came.integer(1)));
  }
}

}  // namespace gpuprof::report
