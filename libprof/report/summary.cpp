#include "libprof/report/summary.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/report/names.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/table.hpp"

namespace gpuprof::report {
namespace {

// Many calls under one name. Times in ns.
struct Total {
  std::int64_t calls = 0;
  std::int64_t time = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;

  void add(const Total& other) {
    min = calls == 0 ? other.min : std::min(min, other.min);
    max = calls == 0 ? other.max : std::max(max, other.max);
    calls += other.calls;
    time += other.time;
  }
};

using Totals =
    std::map<std::int64_t, Total>;  // by what the table names its rows with: an id, a kind

struct SummaryRow {
  std::string name;
  Total total;
};

// Rows that cannot be summed up, or not quite.
struct Oddities {
  std::int64_t without_times = 0;  // GPU work with start = end = 0
  std::int64_t invalid = 0;
  std::int64_t instant = 0;  // API calls with end = start; they are summed up
};

struct Summary {
  std::vector<SummaryRow> gpu;
  std::vector<SummaryRow> api;
  Oddities oddities;
  std::vector<std::string> losses;
};

// A savepoint, as the caller may be inside a transaction of its own.
class ReadTransaction {
 public:
  explicit ReadTransaction(store::Database& database) : database_(database) {
    database_.execute("SAVEPOINT report");
  }
  ~ReadTransaction() {
    try {
      database_.execute("RELEASE report");
    } catch (const Error&) {
      // Nothing was written; closing the database ends it too.
    }
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  store::Database& database_;
};

// Adds a table's rows to `totals` by `key`, an SQL expression. SQLite groups: 0.4 s for a million
// kernel rows, nearly all of it its sort. The second query, for the rows that `valid` leaves out,
// takes a seventh of that; one query that does both takes as long as the two.
void add_totals(store::Database& database, const std::string& table, const std::string& key,
                const std::string& valid, Totals& totals) {
  auto groups =
      database.prepare("SELECT " + key +
                       ", count(*), sum([end] - start), min([end] - start), max([end] - start) "
                       "FROM " +
                       table + " WHERE " + valid + " GROUP BY 1");
  while (groups.step()) {
    totals[groups.integer(0)].add({.calls = groups.integer(1),
                                   .time = groups.integer(2),
                                   .min = groups.integer(3),
                                   .max = groups.integer(4)});
  }
}

void add_gpu_work(store::Database& database, const std::string& table, const std::string& key,
                  Totals& totals, Oddities& oddities) {
  if (!database.has_table(table)) return;
  const std::string valid = "start > 0 AND [end] > start";
  add_totals(database, table, key, valid, totals);
  auto others = database.prepare(
      "SELECT count(*), count(CASE WHEN start = 0 AND [end] = 0 THEN 1 END) FROM " + table +
      " WHERE NOT (" + valid + ")");
  others.step();
  oddities.without_times += others.integer(1);
  oddities.invalid += others.integer(0) - others.integer(1);
}

void add_api_calls(store::Database& database, const std::string& table, Totals& totals,
                   Oddities& oddities) {
  if (!database.has_table(table)) return;
  add_totals(database, table, "cbid", "start > 0 AND [end] >= start", totals);
  auto others = database.prepare(
      "SELECT count(*), count(CASE WHEN start > 0 AND [end] = start THEN 1 END) FROM " + table +
      " WHERE NOT (start > 0 AND [end] > start)");
  others.step();
  oddities.instant += others.integer(1);
  oddities.invalid += others.integer(0) - others.integer(1);
}

// nvprof leaves rows of equal time in the order of its hash; here they go by name.
void sort_by_time(std::vector<SummaryRow>& rows) {
  std::ranges::sort(rows, [](const SummaryRow& a, const SummaryRow& b) {
    return a.total.time != b.total.time ? a.total.time > b.total.time : a.name < b.name;
  });
}

std::vector<SummaryRow> read_gpu(store::Database& database, Names& names, Oddities& oddities) {
  Totals kernels;
  add_gpu_work(database, "CUPTI_ACTIVITY_KIND_KERNEL", "name", kernels, oddities);
  add_gpu_work(database, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "name", kernels, oddities);
  Totals copies;
  add_gpu_work(database, "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", copies, oddities);
  // All of them are peer-to-peer, whatever their own copyKind.
  add_gpu_work(database, "CUPTI_ACTIVITY_KIND_MEMCPY2", "10", copies, oddities);
  Totals sets;
  add_gpu_work(database, "CUPTI_ACTIVITY_KIND_MEMSET", "0", sets, oddities);

  std::vector<SummaryRow> rows;
  for (const auto& [id, total] : kernels) rows.push_back({names.kernel(id), total});
  std::map<std::string, Total> copies_by_name;  // many kinds are unknown
  for (const auto& [kind, total] : copies) copies_by_name[memcpy_name(kind)].add(total);
  for (const auto& [name, total] : copies_by_name) rows.push_back({name, total});
  for (const auto& [none, total] : sets) rows.push_back({"[CUDA memset]", total});
  sort_by_time(rows);
  return rows;
}

std::vector<SummaryRow> read_api(store::Database& database, Names& names, Oddities& oddities) {
  // Several functions print as one: cudaLaunchKernel_v7000, cudaLaunchKernel_ptsz_v7000.
  std::map<std::string, Total> by_name;
  const auto add = [&](const std::string& table, ApiDomain domain) {
    Totals totals;
    add_api_calls(database, table, totals, oddities);
    for (const auto& [cbid, total] : totals) by_name[names.api(domain, cbid)].add(total);
  };
  add("CUPTI_ACTIVITY_KIND_RUNTIME", ApiDomain::runtime);
  add("CUPTI_ACTIVITY_KIND_DRIVER", ApiDomain::driver);

  std::vector<SummaryRow> rows;
  for (const auto& [name, total] : by_name) rows.push_back({name, total});
  sort_by_time(rows);
  return rows;
}

std::vector<std::string> read_losses(store::Database& database) {
  // A foreign file may have something else of that name.
  const auto columns = database.integer(
      "SELECT count(*) FROM pragma_table_info('losses') "
      "WHERE name IN ('process_id', 'kind', 'name', 'value', 'help')");
  if (columns != 5) return {};
  std::vector<std::string> lines;
  auto losses = database.prepare("SELECT value, name, kind, process_id, help FROM losses");
  while (losses.step()) {
    std::string line(losses.text(0));
    line.append(" ").append(losses.text(1));
    std::string where(losses.text(2));
    if (!losses.is_null(3)) {
      where.append(where.empty() ? "" : ", ").append("process ").append(losses.text(3));
    }
    if (!where.empty()) line.append(" (").append(where).append(")");
    if (!losses.text(4).empty()) line.append(": ").append(losses.text(4));
    lines.push_back(std::move(line));
  }
  return lines;
}

Summary read_summary(store::Database& database, const SummaryOptions& options) {
  const ReadTransaction transaction(database);
  Names names(database);
  Summary summary;
  if (options.gpu) summary.gpu = read_gpu(database, names, summary.oddities);
  if (options.api) summary.api = read_api(database, names, summary.oddities);
  summary.losses = read_losses(database);
  // Ours say under `losses` why there are no times; nvprof knew one reason only.
  if (!summary.losses.empty()) summary.oddities.without_times = 0;
  return summary;
}

constexpr std::array<TableColumn, 8> columns{{{"Type", 16},
                                              {"Time(%)", 7},
                                              {"Time", 8},
                                              {"Calls", 8},
                                              {"Avg", 8},
                                              {"Min", 8},
                                              {"Max", 8},
                                              {"Name", 0}}};

std::string time_text(std::int64_t nanoseconds) {
  return format_time(static_cast<std::uint64_t>(nanoseconds));
}

void print_section(std::ostream& out, std::string label, const std::vector<SummaryRow>& rows) {
  std::int64_t sum = 0;
  for (const SummaryRow& row : rows) sum += row.total.time;
  for (const auto& [name, total] : rows) {
    const double percent =
        sum == 0 ? 0 : 100.0 * static_cast<double>(total.time) / static_cast<double>(sum);
    const std::array<std::string, columns.size()> cells{label,
                                                        format_percent(percent),
                                                        time_text(total.time),
                                                        std::to_string(total.calls),
                                                        time_text(total.time / total.calls),
                                                        time_text(total.min),
                                                        time_text(total.max),
                                                        name};
    print_row(out, columns, cells);
    label.clear();  // on the first row only
  }
}

void print_oddities(std::ostream& out, const std::string& prefix, const Oddities& oddities) {
  const std::string warning = prefix + "Warning: ";
  if (oddities.without_times > 0) {
    out << warning << oddities.without_times
        << " records have invalid timestamps due to insufficient device buffer space. You can "
           "configure the buffer space using the option --device-buffer-size.\n";
  }
  if (oddities.invalid > 0) {
    out << warning << "Found " << oddities.invalid << " invalid records in the result.\n"
        << warning
        << "This can happen if device ran out of memory or if a device kernel was stopped due to "
           "an assertion.\n";
  }
  if (oddities.instant > 0) {
    out << warning << oddities.instant
        << " API trace records have same start and end timestamps.\n"
           "This can happen because of short execution duration of CUDA APIs and low timer "
           "resolution on the underlying operating system.\n";
  }
}

}  // namespace

void print_summary(store::Database& database, std::ostream& out, const SummaryOptions& options) {
  const Summary summary = read_summary(database, options);
  print_oddities(out, options.prefix, summary.oddities);
  out << options.prefix << "Profiling result:\n";
  bool headed = false;
  const auto print = [&](std::string label, const std::vector<SummaryRow>& rows,
                         std::string_view nothing) {
    if (rows.empty()) {
      out << nothing << '\n';
      return;
    }
    if (!headed) print_heading(out, columns);
    headed = true;
    print_section(out, std::move(label), rows);
  };
  if (options.gpu) print("GPU activities:", summary.gpu, "No kernels were profiled.");
  if (options.api) print("API calls:", summary.api, "No API activities were profiled.");
  for (const std::string& loss : summary.losses) {
    out << options.prefix << "Warning: " << loss << '\n';
  }
}

}  // namespace gpuprof::report
