// One printing of reports: the profile, what was asked, and what all reports share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
// Of the columns of METRIC.
schema::MetricKind kind_of_metric(std::string_view unit, bool is_event);

// Belongs to one thread.
class Session : public reading::Profile {
 public:
  Session(store::Database& database, const Options& options, Output& output, NameStyle names);

  const Options& options() const { return options_; }
  Output& output() { return output_; }
  bool chosen(std::string_view option) const {
    return options_.chosen.contains(std::string(option));
  }

  // The metrics of our table METRIC without an id of nvprof's, by their own. None in other files.
  const std::map<std::int64_t, NamedMetric>& named_metrics();

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

  const Options& options_;
  Output& output_;
  std::optional<std::map<std::int64_t, NamedMetric>> named_metrics_;
  std::map<std::string, std::int64_t> skipped_;
  std::map<std::string, Oddities, std::less<>> oddities_;
};

}  // namespace gpuprof::report
