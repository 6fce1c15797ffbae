#include "libprof/compute/range_index.hpp"

#include <algorithm>
#include <limits>

#include "libprof/compute/intervals/innermost.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {

void RangeParents::add(std::int64_t range, std::int64_t parent) {
  // Ids are assigned in start order: a file that says otherwise could contain a cycle.
  ranges_.push_back({range, parent < range ? parent : 0});
}

std::int64_t RangeParents::around(std::int64_t range) const {
  // Ids are mostly numbered from 1.
  const auto place = static_cast<std::size_t>(range) - 1;
  if (place < ranges_.size() && ranges_[place].id == range) return ranges_[place].parent;
  const auto found = std::ranges::lower_bound(ranges_, range, {}, &Range::id);
  return found == ranges_.end() || found->id != range ? 0 : found->parent;
}

RangeIndex::Timeline::Timeline(std::vector<Range> ranges) {
  // They arrive in id order: of those that begin together the outer one comes first.
  std::ranges::stable_sort(ranges, {}, &Range::begin);
  intervals::Intervals all;
  std::vector<std::int64_t> moments;
  for (const Range& range : ranges) {
    all.add(range.begin, range.end);
    moments.push_back(range.begin);
    moments.push_back(range.end);
  }
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());
  intervals::Innermost innermost(all.columns());
  for (const std::int64_t moment : moments) {
    const std::size_t found = innermost.at(moment);
    const std::int64_t range = found == intervals::Innermost::none ? 0 : ranges[found].id;
    if (!range_.empty() && range_.back() == range) continue;
    from_.push_back(moment);
    range_.push_back(range);
  }
}

std::int64_t RangeIndex::Timeline::at(std::int64_t time) const {
  const auto holds = [&](std::size_t place) {
    return from_[place] <= time && (place + 1 == from_.size() || time < from_[place + 1]);
  };
  for (const std::size_t place : {latest_, latest_ + 1}) {
    if (place < from_.size() && holds(place)) return range_[latest_ = place];
  }
  const auto behind = std::ranges::upper_bound(from_, time);
  if (behind == from_.begin()) return 0;
  latest_ = static_cast<std::size_t>(behind - from_.begin()) - 1;
  return range_[latest_];
}

RangeIndex::RangeIndex(store::Snapshot& snapshot, RangeParents& parents) {
  std::map<Thread, std::vector<Timeline::Range>> by_thread;
  std::map<std::int64_t, std::vector<Timeline::Range>> by_process;
  columns::Reader reader(snapshot,
                         {.table = "NVTX_RANGE",
                          .columns = {"_id_", "processId", "threadId", "start", "stop", "parent"}});
  reader.read([&](const columns::Chunk& chunk) {
    const auto id = chunk[0].int64s(), process = chunk[1].int64s(), thread = chunk[2].int64s(),
               start = chunk[3].int64s(), stop = chunk[4].int64s(), parent = chunk[5].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      parents.add(id[row], parent[row]);
      const std::int64_t end =
          chunk[4].is_null(row) ? std::numeric_limits<std::int64_t>::max() : stop[row];
      const Timeline::Range range{start[row], end, id[row]};
      by_process[process[row]].push_back(range);
      if (thread[row] != 0) by_thread[{process[row], thread[row]}].push_back(range);
    }
  });
  while (!by_thread.empty()) {
    auto node = by_thread.extract(by_thread.begin());
    threads_.emplace(node.key(), Timeline(std::move(node.mapped())));
  }
  while (!by_process.empty()) {
    auto node = by_process.extract(by_process.begin());
    processes_.emplace(node.key(), Timeline(std::move(node.mapped())));
  }
}

std::int64_t RangeIndex::find(const auto& timelines, const auto& key, std::int64_t time) {
  const auto found = timelines.find(key);
  return found == timelines.end() ? 0 : found->second.at(time);
}

std::optional<RangeIndex::Match> RangeIndex::at(std::int64_t process, std::int64_t thread,
                                                std::int64_t time) const {
  if (const std::int64_t range = find(threads_, Thread(process, thread), time)) {
    return Match{range, true};
  }
  if (const std::int64_t range = find(processes_, process, time)) return Match{range, false};
  return std::nullopt;
}

}  // namespace gpuprof::compute
