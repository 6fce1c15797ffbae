// A run on a single page that can be mailed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/conclude/findings/findings.hpp"
#include "libprof/read/step_times.hpp"
#include "libprof/read/window.hpp"
#include "libprof/report/account.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/stops.hpp"
#include "libprof/view/model/untimed.hpp"

namespace gpuprof::view {

// A counter's values over a window.
struct CounterSummary {
  const Track* track = nullptr;
  double least = 0, mean = 0, most = 0;  // a value holds until the next
  std::int64_t most_at = 0;              // first time of the maximum, ns on CUPTI's clock
  Tile tile;
};
inline constexpr std::uint32_t counter_pixels = 240;
// Memory, clocks, power and temperature come before sampled GPU counters.
std::vector<CounterSummary> summarize_counters(const Model& model, const Window& window);

// Means of launch measurements: kernels as rows, metrics as columns.
struct MetricTable {
  struct Kernel {
    std::string name;
    std::int64_t launches = 0;        // that have a value of the most frequent metric
    std::vector<std::string> values;  // with units; empty: no value
  };
  std::vector<std::string> metrics;
  std::vector<Kernel> kernels;  // most often measured first
  std::size_t metrics_left_out = 0, kernels_left_out = 0;
};
MetricTable read_metric_table(store::Database& database);

// Device work by NVTX range. Shares are of the report's window; nested ranges count in the outer
// ones too, so shares have no sum.
struct RangeTable {
  struct Row {
    std::string name;
    std::size_t depth = 0;  // number of enclosing rows
    std::int64_t ranges = 0, work = 0;
    std::uint64_t busy = 0, span = 0;  // ns
  };
  std::vector<Row> rows;  // after the enclosing row; rows of equal depth by busy time
  std::size_t left_out = 0;
};
inline constexpr std::size_t most_range_rows = 20;
RangeTable read_range_table(store::Database& database, const Window& window);

// The steps of the process with most, in order of time.
struct StepTimes {
  struct Step {
    std::string name;
    std::int64_t begin = 0;           // ns after the run's zero
    std::int64_t time = 0, busy = 0;  // ns, on the host and of the busiest GPU
  };
  std::vector<Step> all;  // the first 400
  reading::StepSpread spread;
};
// Those that begin in the window.
StepTimes read_step_times(store::Database& database, const Model& model, const Window& window);

struct RunSummary {
  std::string title;
  Window window;
  bool is_part = false;         // of a run
  std::int64_t drawn = 0;       // number of records
  std::int64_t records = 0;     // in the file; for a part, those drawn
  std::vector<Detail> facts;    // what ran, where, and with which software
  report::TimeAccount account;  // of the run, or of the part of it
  findings::Findings findings;  // of the part, or as gpuprof findings chooses
  StepTimes steps;
  Statistics statistics;
  std::vector<CounterSummary> counters;  // point into the model
  RangeTable ranges;
  MetricTable metrics;             // of the whole run
  Stops stops;                     // longest gaps, steps and losses
  std::vector<std::string> notes;  // of the file
  UntimedWork untimed;             // of the whole run
  // As JSON, see add_kernels(): pages of gpuprof kernels, and flame graphs.
  std::string kernels = "{}", flames = "[]";
  // The part of the viewer's address after # that the page opens with; may be a stranger's.
  std::string state;
};

// A run that the report's is compared with; the page draws it first. See comparison.hpp.
struct OtherRun;
// Of the time between `from` and `to`, as far as given. Throws Error if it is empty.
RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes, const reading::Moment& from = {},
                     const reading::Moment& to = {});
// Adds what only HTML has: kernel_pages() of the shapes with most time, and flame_answer() in each
// way that the file knows.
void add_kernels(store::Database& database, RunSummary& summary, const reading::Moment& from,
                 const reading::Moment& to);

// How files made by the next two functions begin.
inline constexpr std::string_view html_begins = "<!doctype html>\n<!-- gpuprof report -->";
inline constexpr std::string_view markdown_begins = "<!-- gpuprof report -->";

constexpr std::size_t most_html_bytes = 5'000'000, most_bytes_with_all_records = 50'000'000;

// The viewer's page with its data embedded: all records if they fit, otherwise the whole time in as
// many pixels as fit plus the records of the longest gaps and steps. The page loads nothing from
// anywhere. `all_records`: throws Error if the records need more than most_bytes_with_all_records.
// `other`: null, or the other run, whose names have the same numbers in `model`.
std::string html_report(const Model& model, const RunSummary& summary, bool all_records = false,
                        const OtherRun* other = nullptr);
// For a pull request: at most 60 lines.
std::string markdown_report(const Model& model, const RunSummary& summary);

// For html_report(): the page's data instead of a server, as HTML elements. client/report.js reads
// them.
std::string report_data(const Model& model, const RunSummary& summary, bool all_records,
                        const OtherRun* other);

}  // namespace gpuprof::view
