#include "libprof/compute/path_times.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/launch_ranges.hpp"
#include "libprof/compute/range_times.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {
namespace {

struct Range {
  std::int64_t id, parent, name;
};

class SumsByPath {
 public:
  explicit SumsByPath(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    std::ranges::sort(ranges_, {}, &Range::id);
  }

  // In start order, clipped.
  void add(std::int64_t range, std::int64_t begin, std::int64_t end) {
    if (range != latest_ || chain_.empty()) find(range);
    for (const auto& [path, its] : chain_) {
      ++paths_[path].work;
      busy_[path].add(begin, end);
      its->first = std::min(its->first, begin);
      its->last = std::max(its->last, end);
    }
  }

  std::vector<PathTime> finish();

 private:
  struct Instance {
    std::size_t path;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
  };

  const Range* range(std::int64_t id) const {
    const auto found = std::ranges::lower_bound(ranges_, id, {}, &Range::id);
    return found == ranges_.end() || found->id != id ? nullptr : &*found;
  }

  // Ids are assigned in start order: a larger parent id could lead to a cycle.
  const Range* around(const Range& its) const {
    return its.parent < its.id ? range(its.parent) : nullptr;
  }

  std::size_t path_of(const Range& innermost) {
    std::vector<const Range*> unknown;
    std::size_t path = PathTime::none;
    for (const Range* its = &innermost; its; its = around(*its)) {
      const auto known = path_of_.find(its->id);
      if (known != path_of_.end()) {
        path = known->second;
        break;
      }
      unknown.push_back(its);
    }
    for (; !unknown.empty(); unknown.pop_back()) {
      const Range& its = *unknown.back();
      const auto [place, is_new] = places_.try_emplace({path, its.name}, paths_.size());
      if (is_new) {
        paths_.push_back({.parent = path, .name = its.name});
        busy_.emplace_back();
        incomplete_.push_back(false);
      }
      path = path_of_[its.id] = place->second;
    }
    return path;
  }

  void find(std::int64_t id) {
    latest_ = id;
    chain_.clear();
    const Range* its = range(id);
    for (int level = 0; its && level < RangeTimes::most_levels; ++level, its = around(*its)) {
      const std::size_t path = path_of(*its);
      chain_.emplace_back(path, &instances_.try_emplace(its->id, Instance{path}).first->second);
    }
    if (!its) return;
    for (std::size_t path = path_of(*its); path != PathTime::none && !incomplete_[path];
         path = paths_[path].parent) {
      incomplete_[path] = true;
    }
  }

  std::vector<Range> ranges_;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> places_;  // by parent and name
  std::unordered_map<std::int64_t, std::size_t> path_of_;               // by range
  std::unordered_map<std::int64_t, Instance> instances_;                // by range
  std::vector<PathTime> paths_;
  std::vector<intervals::Busy> busy_;  // of each
  std::vector<bool> incomplete_;
  std::int64_t latest_ = 0;
  std::vector<std::pair<std::size_t, Instance*>> chain_;  // of the latest range, innermost first
};

std::vector<PathTime> SumsByPath::finish() {
  std::vector<Instance> in_order;
  for (const auto& [id, its] : instances_) in_order.push_back(its);
  std::ranges::sort(in_order, {}, &Instance::first);
  std::vector<intervals::Busy> spans(paths_.size());
  for (const Instance& its : in_order) {
    spans[its.path].add(its.first, its.last);
    ++paths_[its.path].ranges;
  }
  std::vector<PathTime> complete;
  std::vector<std::size_t> place(paths_.size(), PathTime::none);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (incomplete_[i] || paths_[i].work == 0) continue;
    place[i] = complete.size();
    PathTime& its = complete.emplace_back(paths_[i]);
    its.parent = its.parent == PathTime::none ? PathTime::none : place[its.parent];
    its.busy = busy_[i].ns();
    its.span = spans[i].ns();
  }
  return complete;
}

bool has(store::Snapshot& snapshot, std::string_view table,
         std::initializer_list<std::string_view> columns) {
  return std::ranges::all_of(columns, [&](std::string_view column) {
    return snapshot.reader(0).has_column(table, column);
  });
}

}  // namespace

std::vector<PathTime> path_times(store::Snapshot& snapshot, std::int64_t from, std::int64_t to,
                                 const std::function<void()>& check) {
  if (!has(snapshot, "LAUNCH_RANGE", {"correlationId", "range"}) ||
      !has(snapshot, "NVTX_RANGE", {"_id_", "parent", "name"})) {
    return {};
  }
  LaunchRanges launches;
  columns::Reader calls(snapshot, {.table = "LAUNCH_RANGE", .columns = {"correlationId", "range"}});
  calls.read([&](const columns::Chunk& chunk) {
    check();
    const auto correlation = chunk[0].int64s(), range = chunk[1].int64s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      launches.add(correlation[i], RangeIndex::Match{.range = range[i]});
    }
  });
  launches.end();
  std::vector<Range> ranges;
  columns::Reader all(snapshot, {.table = "NVTX_RANGE", .columns = {"_id_", "parent", "name"}});
  all.read([&](const columns::Chunk& chunk) {
    check();
    const auto id = chunk[0].int64s(), parent = chunk[1].int64s();
    const auto name = chunk[2].int32s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) ranges.push_back({id[i], parent[i], name[i]});
  });
  if (ranges.empty()) return {};
  const SumsByPath none(ranges);
  SumsByPath paths = none;
  read_gpu_work(snapshot, {.visit =
                               [&](const GpuWork& work) {
                                 if (work.begin >= to || work.end <= from) return;
                                 const std::int64_t range = launches.range_of(work.correlation);
                                 if (range == 0) return;
                                 paths.add(range, std::max(work.begin, from),
                                           std::min(work.end, to));
                               },
                           .restart = [&] { paths = none; },
                           .check = check});
  return paths.finish();
}

}  // namespace gpuprof::compute
