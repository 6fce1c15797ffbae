// A run on one page that can be mailed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/window.hpp"
#include "libprof/view/model.hpp"
#include "libprof/view/stops.hpp"
#include "libprof/view/untimed.hpp"

namespace gpuprof::view {

// Why a device had no work. The parts of a device are all of its idle time in its span().
struct IdlePart {
  std::string cause;
  std::uint64_t time = 0;  // ns
  std::int64_t gaps = 0;   // in how many; 0: this is not known
};
// The longest first; of each device that is in the statistics.
std::vector<std::vector<IdlePart>> find_idle_parts(store::Database& database, const Window& window,
                                                   bool is_part, const Statistics& statistics);

// What a counter was over a window.
struct CounterSummary {
  const Track* track = nullptr;
  double least = 0, mean = 0, most = 0;  // a value holds until the next
  std::int64_t most_at = 0;              // when it was so first, ns on CUPTI's clock
  Tile tile;
};
inline constexpr std::uint32_t counter_pixels = 240;
// Memory, clocks, power and temperature before samples of the GPU's counters.
std::vector<CounterSummary> summarize_counters(const Model& model, const Window& window);

// Means of what was measured of launches: kernels down, metrics across.
struct MetricTable {
  struct Kernel {
    std::string name;
    std::int64_t launches = 0;        // that have a value of the metric which most have
    std::vector<std::string> values;  // with units; empty: none
  };
  std::vector<std::string> metrics;
  std::vector<Kernel> kernels;  // the most often measured first
  std::size_t metrics_left_out = 0, kernels_left_out = 0;
};
MetricTable read_metric_table(store::Database& database);

// What devices did for NVTX ranges. Shares are of the report's window: what lies inside another
// range is in that too, so they have no sum.
struct RangeTable {
  struct Row {
    std::string name;
    std::size_t depth = 0;  // of the rows that are around it
    std::int64_t ranges = 0, work = 0;
    std::uint64_t busy = 0, span = 0;  // ns
  };
  std::vector<Row> rows;  // after the one around it; those of one depth by their busy time
  std::size_t left_out = 0;
};
inline constexpr std::size_t most_range_rows = 20;
RangeTable read_range_table(store::Database& database, const Window& window);

struct RunSummary {
  std::string title;
  Window window;
  bool is_part = false;       // of the run
  std::int64_t drawn = 0;     // records
  std::int64_t records = 0;   // of the file; of a part those that are drawn
  std::vector<Detail> facts;  // what ran, where, with what
  Statistics statistics;
  std::vector<std::vector<IdlePart>> idle;  // by device of the statistics
  std::vector<CounterSummary> counters;     // they point into the model
  RangeTable ranges;
  MetricTable metrics;             // of the whole run
  Stops stops;                     // the longest gaps, steps, and losses
  std::vector<std::string> notes;  // of the file
  UntimedWork untimed;             // of the whole run
};
// From one time to another, as far as they are given. Throws Error where nothing is between them.
RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes, const reading::Moment& from = {},
                     const reading::Moment& to = {});

// "1.5 ms"
std::string time_text(double ns);
std::string counter_text(double value, const std::string& unit);

// How files begin that these two make.
inline constexpr std::string_view html_begins = "<!doctype html>\n<!-- gpuprof report -->";
inline constexpr std::string_view markdown_begins = "<!-- gpuprof report -->";

constexpr std::size_t most_html_bytes = 5'000'000, most_bytes_with_all_records = 50'000'000,
                      most_markdown_bytes = 60'000;

// The viewer's page with its data in it: all records where they find room, else all of the time in
// as many pixels as do and the records of the longest gaps and steps. It asks for nothing from
// anywhere. `all_records`: throws Error where they take more than most_bytes_with_all_records.
std::string html_report(const Model& model, const RunSummary& summary, bool all_records = false);
std::string markdown_report(const Model& model, const RunSummary& summary);

// For html_report(): what the page has for a server, as elements. client/report.js reads them.
std::string report_data(const Model& model, const RunSummary& summary, bool all_records);

}  // namespace gpuprof::view
