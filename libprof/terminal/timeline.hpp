// What GPUs and NVTX ranges did over time, in as many columns as a terminal has. For gpuprof
// timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::terminal {

struct TimelineOptions {
  // Neither is given: what is busy is shown, the steps without the first if steps are known.
  reading::Moment from = {};
  reading::Moment to = {};
  std::size_t columns = 100;  // upper limit; at least 10
  std::size_t streams = 8;    // per GPU, the busiest ones
};

struct TimelineRow {
  std::string name;
  double share = 0;          // of the displayed time
  std::vector<double> busy;  // fraction of each column, 0 to 1
};

struct Gpu {
  std::string name;
  TimelineRow all;
  TimelineRow copies;  // copies and sets; no columns: there were none
  std::vector<TimelineRow> streams;
  std::size_t more_streams = 0;  // streams with work that are not shown
};

// The NVTX ranges of one thread at one depth.
struct Ranges {
  std::string thread;
  std::size_t depth = 0;
  // Per column, the range that took most of it, as an index in `names`. Equal neighbours are the
  // same range.
  static constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> columns;
  std::vector<std::string> names;
};

struct Timeline {
  std::int64_t begin = 0;   // ns after the run's zero
  std::int64_t end = 0;     // end of what is shown
  std::int64_t column = 0;  // ns; the last column may be cut by the end
  std::string part = {};    // what of the run is shown because nothing was chosen; empty: all of it
  std::vector<Gpu> gpus;    // empty: no timed GPU work there
  std::vector<Ranges> ranges;
};

// `check` is called now and then and may throw. Memory does not depend on how much the GPUs did.
Timeline read(store::Database& database, const TimelineOptions& options,
              const std::function<void()>& check);

// Characters before the time columns, in lines of `width`.
std::size_t margin(std::size_t width);
// Lines for a terminal; `blocks`: with Unicode block elements rather than ASCII.
std::string text(const Timeline& timeline, std::size_t width, bool blocks);

}  // namespace gpuprof::terminal
