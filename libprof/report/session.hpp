// One printing of reports: the database, what was asked, and what all reports share.
//
// Belongs to one thread. While it lives it holds a read transaction, so that all reports see the
// same state of a file that is being written.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/columns/request.hpp"
#include "libprof/report/names.hpp"
#include "libprof/report/options.hpp"
#include "libprof/report/output.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"
#include "schema/nvprof_ids.hpp"

namespace gpuprof::report {

// Records that a report does not print, or not quite.
struct Oddities {
  std::int64_t without_times = 0;  // GPU work with start or end 0
  std::int64_t invalid = 0;
  std::int64_t instant = 0;  // API calls with end = start; they count
};

// A metric or event that nvprof has no id for, as table METRIC names it.
struct NamedMetric {
  std::string name;
  std::string unit;
  std::string description;  // with the unit, where values are shown without
  schema::MetricKind kind = schema::MetricKind::real;
  bool is_event = false;
};

class Session {
 public:
  Session(store::Database& database, const Options& options, Output& output, NameStyle names);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  store::Database& database() { return database_; }
  store::Snapshot& snapshot() { return snapshot_; }
  const Options& options() const { return options_; }
  Output& output() { return output_; }
  Names& names() { return names_; }
  bool chosen(std::string_view option) const {
    return options_.chosen.contains(std::string(option));
  }

  // `kind` is a table's name without "CUPTI_ACTIVITY_KIND_". Views do not count, as for nvprof.
  bool has(std::string_view kind);
  bool has_rows(std::string_view kind);
  bool has_column(std::string_view kind, std::string_view column);
  // SELECT of the columns, in their order, from the kind's table; `rest` is what follows the FROM
  // clause (WHERE, GROUP BY, ORDER BY). A column that an old file lacks reads 0, a table that is
  // missing is an empty one. Expressions are written with names in brackets: "[end] - start".
  store::Statement select(std::string_view kind, std::initializer_list<std::string_view> columns,
                          const std::string& rest = {});

  // The metrics of our table METRIC without an id of nvprof's, by their own. None in other files.
  const std::map<std::int64_t, NamedMetric>& named_metrics();

  // Conditions of --devices, --kernels and the time window, and of the device of a report per
  // device. One applies to a table that has its column: deviceId; name of kernels; start or
  // timestamp. Nothing: no row fits.
  std::optional<columns::Filter> wanted_rows(std::string_view kind);
  // The same for a WHERE clause: "1" or "deviceId IN (0, 1) AND …".
  std::string filter(std::string_view kind);
  // The device that sections are printed for (--print-summary-per-gpu); nothing: all.
  std::optional<std::int64_t> device;

  bool no_kernel_has_the_name() { return !options_.filter.kernels.empty() && kernel_ids().empty(); }
  // What --from and --to count from, ns.
  std::int64_t zero();

  // What a report counted while it read a whole table, so that it is not read for that again.
  void counted(std::string_view kind, Oddities counts);
  // "Profiling result:", after warnings about records that are odd. Counts them in the tables that
  // no report has counted yet.
  void begin_result();
  // Event or metric results were printed: what follows is headed "Trace result:".
  bool values_printed = false;

  // Counts a record that cannot be read, by what is wrong with it; told after the reports:
  // "3 records skipped: CUPTI_ACTIVITY_KIND_MARKER with an objectId that is not of 12 bytes".
  void skip(const std::string& what) { ++skipped_[what]; }
  void report_skipped();

 private:
  Oddities count_oddities(const std::string& kind);
  const std::set<std::string, NameLess>& columns(std::string_view kind);
  void find_window();
  const std::vector<std::int64_t>& kernel_ids();

  store::Database& database_;
  store::Snapshot snapshot_;
  const Options& options_;
  Output& output_;
  using Columns = std::set<std::string, NameLess>;
  std::map<std::string, Columns, std::less<>> columns_;  // of tables; none: missing
  std::map<std::string, bool, std::less<>> has_rows_;    // of those asked for
  std::optional<std::map<std::int64_t, NamedMetric>> named_metrics_;
  Names names_;
  std::map<std::string, std::int64_t> skipped_;
  std::map<std::string, Oddities, std::less<>> oddities_;
  std::optional<std::int64_t> zero_;
  std::optional<std::int64_t> from_, to_;                // absolute, ns
  std::optional<std::vector<std::int64_t>> kernel_ids_;  // of --kernels
  std::uint64_t names_given_up_ = 0;  // in which --kernels took too long to search
};

}  // namespace gpuprof::report
