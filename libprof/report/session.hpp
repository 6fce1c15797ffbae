// One printing of reports: the profile, the options, and what all reports share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/read/profile.hpp"
#include "libprof/report/options.hpp"
#include "libprof/report/output.hpp"
#include "schema/metric_kind.hpp"

namespace gpuprof::report {

using reading::ApiDomain;
using reading::is_transfer;
using reading::kind_prefix;
using reading::memcpy_name;
using reading::memset_name;
using reading::Names;
using reading::table_name;
using reading::valid_times;

// Records that a report omits or adjusts.
struct Oddities {
  std::int64_t without_times = 0;  // GPU work with start or end 0
  std::int64_t invalid = 0;
  std::int64_t instant = 0;  // API calls with end = start; they are counted
};

// A metric or event without an nvprof id, from table METRIC.
struct NamedMetric {
  std::string name;
  std::string unit;
  std::string description;  // includes the unit, for values printed without one
  schema::MetricKind kind = schema::MetricKind::real;
  bool is_event = false;
};
// From columns of METRIC.
schema::MetricKind kind_of_metric(std::string_view unit, bool is_event);

// Not thread-safe.
class Session : public reading::Profile {
 public:
  Session(store::Database& database, const ReportOptions& options, Output& output, NameStyle names);

  const ReportOptions& options() const { return options_; }
  Output& output() { return output_; }
  bool chosen(std::string_view option) const {
    return options_.chosen.contains(std::string(option));
  }

  // Metrics of table METRIC without an nvprof id, by _id_. Empty in other files.
  const std::map<std::int64_t, NamedMetric>& named_metrics();

  // Records what a report counted while reading a whole table, so that it is not read again for
  // that.
  void counted(std::string_view kind, Oddities counts);
  // Prints warnings about odd records. Reads the tables that no report has counted yet.
  void warn_of_odd_records();
  // Prints these warnings, then "Profiling result:".
  void begin_result();
  // Event or metric results were printed: what follows has the heading "Trace result:".
  bool values_printed = false;

  // Counts a record that cannot be read, by its problem. report_skipped() prints the counts after
  // the reports: "3 records skipped: CUPTI_ACTIVITY_KIND_MARKER with an objectId that is not of 12
  // bytes".
  void skip(const std::string& what) { ++skipped_[what]; }
  void report_skipped();

 private:
  Oddities count_oddities(const std::string& kind);

  const ReportOptions& options_;
  Output& output_;
  std::optional<std::map<std::int64_t, NamedMetric>> named_metrics_;
  std::map<std::string, std::int64_t> skipped_;
  std::map<std::string, Oddities, std::less<>> oddities_;
};

}  // namespace gpuprof::report
