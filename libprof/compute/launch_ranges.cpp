#include "libprof/compute/launch_ranges.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "schema/database.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {

void LaunchRanges::add(std::int64_t correlation, std::optional<RangeIndex::Match> match) {
  const auto [range, by_thread] = match.value_or(RangeIndex::Match());
  known_.add(correlation);
  calls_.add({correlation, range << 1 | by_thread});
}

// Each call made in a range, once.
void LaunchRanges::for_each_in_range(const auto& take) {
  runs_.clear();
  calls_.for_each([&](const Call& call) {
    if (!runs_.empty() && runs_.back().last == call.correlation) return;
    if (!runs_.empty() && runs_.back().range == call.range()) {
      runs_.back().last = call.correlation;
    } else {
      runs_.push_back({call.correlation, call.correlation, call.range()});
    }
    if (call.range() != 0) take(call);
  });
}

void LaunchRanges::end() {
  for_each_in_range([](const Call&) {});
}

void LaunchRanges::write(store::NewTrees& trees) {
  store::TableWriter writer(trees);
  for_each_in_range([&](const Call& call) {
    writer.add(call.correlation, std::array{call.range(), call.by_thread()});
  });
  const schema::Table& table = schema::tables::launch_range;
  trees.add({.type = "table",
             .name = std::string(table.name),
             .table = std::string(table.name),
             .sql = schema::create_table_sql(table),
             .root = writer.finish()});
}

void LaunchRanges::write(store::Database& database) {
  database.execute("DELETE FROM main.LAUNCH_RANGE");
  store::Statement insert = database.prepare("INSERT INTO main.LAUNCH_RANGE VALUES(?1, ?2, ?3)");
  for_each_in_range([&](const Call& call) {
    insert.bind(1, call.correlation).bind(2, call.range()).bind(3, call.by_thread()).run();
  });
}

std::int64_t LaunchRanges::range_of(std::int64_t correlation) const {
  if (!known_.contains(correlation)) return 0;
  const auto holds = [&](std::size_t place) {
    return place < runs_.size() && runs_[place].first <= correlation &&
           correlation <= runs_[place].last;
  };
  if (!holds(latest_)) {
    const auto found = std::ranges::lower_bound(runs_, correlation, {}, &Run::last);
    const auto place = static_cast<std::size_t>(found - runs_.begin());
    if (!holds(place)) return 0;
    latest_ = place;
  }
  return runs_[latest_].range;
}

}  // namespace gpuprof::compute
