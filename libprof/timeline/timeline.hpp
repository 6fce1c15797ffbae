// What GPUs and NVTX ranges did over time, in as many columns as a terminal has. For gpuprof
// timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::timeline {

struct Options {
  reading::Moment from = {};
  reading::Moment to = {};
  std::size_t columns = 100;  // at most; at least 10
  std::size_t streams = 8;    // of a GPU, the busiest
};

struct Row {
  std::string name;
  double share = 0;          // of all the time that is shown
  std::vector<double> busy;  // of each column's time, 0 to 1
};

struct Gpu {
  std::string name;
  Row all;
  Row copies;  // copies and sets; no columns: there were none
  std::vector<Row> streams;
  std::size_t more_streams = 0;  // with work, which have no row
};

// The NVTX ranges of one thread at one depth.
struct Ranges {
  std::string thread;
  std::size_t depth = 0;
  // Of each column: which range took most of it, a place in `names`. Next to one another the same
  // place is the same range.
  static constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> columns;
  std::vector<std::string> names;
};

struct Timeline {
  std::int64_t begin = 0;   // ns after the run's zero
  std::int64_t end = 0;     // of what is shown
  std::int64_t column = 0;  // ns; the last one may be cut by the end
  std::vector<Gpu> gpus;    // empty: no GPU work has times there
  std::vector<Ranges> ranges;
};

// `check` is called now and then and may throw. Memory does not depend on how much the GPUs did.
Timeline read(store::Database& database, const Options& options,
              const std::function<void()>& check);

// Characters of a line that do not stand for time.
std::size_t margin();
// Lines for a terminal; `blocks`: of Unicode's block elements, else of ASCII.
std::string text(const Timeline& timeline, bool blocks);

}  // namespace gpuprof::timeline
