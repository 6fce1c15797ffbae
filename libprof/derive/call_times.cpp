#include "libprof/derive/call_times.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/derive/fill.hpp"
#include "schema/derived.hpp"

namespace gpuprof::derive {
namespace {

constexpr std::array<std::string_view, 3> domain_names{"runtime", "driver", "internal"};

// As in the views: up to the first _ that does not lead.
std::string without_suffixes(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_not_of('_'), name.size());
  return std::string(name.substr(0, name.find('_', begin)));
}

}  // namespace

CallTimes::CallTimes(store::Database& database) {
  for (const char* column : {"domain", "cbid", "name"}) {
    if (!database.has_column("API_NAME", column)) return;
  }
  store::Statement names = database.prepare("SELECT domain, cbid, name FROM main.API_NAME");
  while (names.step()) {
    const auto domain = std::ranges::find(domain_names, names.text(0));
    if (domain == domain_names.end() || names.is_null(2)) continue;
    names_[static_cast<std::size_t>(domain - domain_names.begin())].try_emplace(
        names.integer(1), without_suffixes(names.text(2)));
  }
}

std::size_t CallTimes::group_of(Domain domain, std::int64_t cbid) {
  const auto known = by_cbid_[domain].find(cbid);
  if (known != by_cbid_[domain].end()) return known->second;
  if (groups_.size() == Durations::most_groups) return Durations::most_groups;
  const std::string of(domain_names[domain]);
  const auto named = names_[domain].find(cbid);
  const std::string name = domain == internal ? "internal launch"
                           : named != names_[domain].end()
                               ? named->second
                               : of + " function " + std::to_string(cbid);
  const std::size_t group = groups_.try_emplace({of, name}, groups_.size()).first->second;
  return by_cbid_[domain][cbid] = group;
}

void CallTimes::add(Domain domain, const columns::Column& cbid, const columns::Column& start,
                    const columns::Column& end) {
  const auto ids = cbid.int64s(), starts = start.int64s(), ends = end.int64s();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (starts[i] == 0 || ends[i] == 0) continue;  // not collected
    durations_.add(group_of(domain, ids[i]), saturating_subtract(ends[i], starts[i]));
  }
}

void CallTimes::write(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::api_time);
  for (const auto& [name, group] : groups_) {
    const auto spread = durations_.spread(group);
    if (!spread) continue;
    insert.bind(1, name.first).bind(2, name.second).bind(3, spread->median);
    insert.bind(4, spread->p90).bind(5, spread->p99).run();
  }
}

}  // namespace gpuprof::derive
