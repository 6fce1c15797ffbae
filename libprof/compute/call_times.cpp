#include "libprof/compute/call_times.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::array<std::string_view, 3> domain_names{"runtime", "driver", "internal"};

// As in the views: up to the first _ that is not leading.
std::string without_suffixes(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_not_of('_'), name.size());
  return std::string(name.substr(0, name.find('_', begin)));
}

}  // namespace

CallTimes::CallTimes(store::Database& database) {
  if (!database.has_columns("API_NAME", {"domain", "cbid", "name"})) return;
  store::Statement names = database.prepare("SELECT domain, cbid, name FROM main.API_NAME");
  while (names.step()) {
    const auto domain = std::ranges::find(domain_names, names.text(0));
    if (domain == domain_names.end() || names.is_null(2)) continue;
    names_[static_cast<std::size_t>(domain - domain_names.begin())].try_emplace(
        names.integer(1), without_suffixes(names.text(2)));
  }
}

const std::string* CallTimes::name_of(Domain domain, std::int64_t cbid) const {
  const auto named = names_[domain].find(cbid);
  return named == names_[domain].end() ? nullptr : &named->second;
}

std::size_t CallTimes::group_of(Domain domain, std::int64_t cbid) {
  const auto known = by_cbid_[domain].find(cbid);
  if (known != by_cbid_[domain].end()) return known->second;
  if (groups_.size() == Durations::most_groups) return Durations::most_groups;
  const std::string of(domain_names[domain]);
  const std::string* named = name_of(domain, cbid);
  const std::string name = domain == internal ? "internal launch"
                           : named            ? *named
                                              : of + " function " + std::to_string(cbid);
  const std::size_t group = groups_.try_emplace({of, name}, groups_.size()).first->second;
  sums_.resize(groups_.size());
  return by_cbid_[domain][cbid] = group;
}

void CallTimes::add(Domain domain, const columns::Column& cbid, const columns::Column& start,
                    const columns::Column& end, const columns::Column& result) {
  const auto ids = cbid.int64s(), starts = start.int64s(), ends = end.int64s(),
             results = result.int64s();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t group = group_of(domain, ids[i]);
    if (group >= sums_.size()) {
      complete_ = false;
      continue;
    }
    Sum& sum = sums_[group];
    ++sum.count;
    sum.failed += results[i] != 0;
    if (starts[i] == 0 || ends[i] == 0) continue;  // not collected
    const std::int64_t duration = saturating_subtract(ends[i], starts[i]);
    durations_.add(group, duration);
    sum.durations.add(duration);
  }
}

void CallTimes::write(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::api_time);
  for (const auto& [name, group] : groups_) {
    const auto spread = durations_.spread(group);
    if (!spread && !complete_) continue;
    const Sum& sum = sums_[group];
    insert.bind(1, name.first).bind(2, name.second);
    for (int column = 3; column <= 11; ++column) insert.bind_null(column);
    if (spread) insert.bind(3, spread->median).bind(4, spread->p90).bind(5, spread->p99);
    if (complete_) {
      insert.bind(6, sum.count).bind(7, sum.failed).bind(8, sum.durations.timed);
      if (spread) {
        insert.bind(9, sum.durations.total).bind(10, sum.durations.shortest);
        insert.bind(11, sum.durations.longest);
      }
    }
    insert.run();
  }
}

}  // namespace gpuprof::compute
