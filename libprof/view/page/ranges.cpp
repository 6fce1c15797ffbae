// NVTX ranges for a report.
#include <algorithm>
#include <numeric>

#include "libprof/compute/path_times.hpp"
#include "libprof/read/names.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {

RangeTable read_range_table(store::Database& database, const Window& window) {
  RangeTable table;
  store::Snapshot snapshot(database);
  const std::vector<compute::PathTime> all =
      compute::path_times(snapshot, window.from, window.to, [&] { database.check_watch(); });
  // An enclosing range is busy for at least as long, and comes first on ties.
  std::vector<std::size_t> chosen(all.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  std::ranges::stable_sort(chosen, std::greater{}, [&](std::size_t i) { return all[i].busy; });
  table.left_out = chosen.size() - std::min(chosen.size(), most_range_rows);
  chosen.resize(chosen.size() - table.left_out);
  reading::Names names(database, reading::NameStyle::modern);
  const auto add = [&](const auto& add_inside, std::size_t parent, std::size_t depth) -> void {
    for (const std::size_t i : chosen) {
      const compute::PathTime& its = all[i];
      if (its.parent != parent) continue;
      table.rows.push_back({.name = its.name ? names.text(its.name) : std::string("<unnamed>"),
                            .depth = depth,
                            .ranges = its.ranges,
                            .work = its.work,
                            .busy = static_cast<std::uint64_t>(its.busy),
                            .span = static_cast<std::uint64_t>(its.span)});
      add_inside(add_inside, i, depth + 1);
    }
  };
  add(add, compute::PathTime::none, 0);
  return table;
}

}  // namespace gpuprof::view
