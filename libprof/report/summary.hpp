// Tables of time by name, with a section per kind of activity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

// Statistics of all calls with one name. Times in ns.
struct Total {
  std::int64_t calls = 0;
  std::int64_t time = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t device_calls = 0;        // the part of `calls` launched on the device (CDP)
  std::vector<std::int64_t> durations;  // --stats only; all of them, unordered

  void add(const Total& other);
  void add(std::int64_t duration) {
    min = calls == 0 ? duration : std::min(min, duration);
    max = calls == 0 ? duration : std::max(max, duration);
    ++calls;
    time = saturating_add(time, duration);
  }
};

struct SummaryRow {
  std::string name;
  Total total;
};

struct SummarySection {
  std::string label;  // "GPU activities"
  std::vector<SummaryRow> rows;
  std::string nothing;  // printed if there are no rows; empty: nothing
};

// Longest total time first. Ties are ordered by name, where nvprof uses its hash order.
void sort_by_time(std::vector<SummaryRow>& rows);

// Prints one table. `range` is nvprof's row for an NVTX range, before the sections.
void print_sections(Session& session, std::vector<SummarySection> sections,
                    const std::optional<SummaryRow>& range = {});

}  // namespace gpuprof::report
