#include "libprof/view/model/untimed.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "libprof/base/json_text.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/question.hpp"
#include "libprof/view/model/reading.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_ids = 5;
constexpr std::size_t longest_untimed_name = 400;

using Groups = std::map<std::pair<std::int64_t, std::int64_t>, Untimed>;  // by name and process

void read_table(Reading& reading, const timeline::RecordTable& table, std::size_t most,
                Groups& groups, std::int64_t& left_out) {
  columns::Request request{.table = table.name,
                           .columns = {table.begin, table.end, table.id, "processId"}};
  if (!table.named_by.empty()) request.columns.push_back(table.named_by);
  columns::Reader rows(reading.snapshot, request);
  rows.read([&](const columns::Chunk& chunk) {
    reading.check(table.name);
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      if (timeline::has_times(table.kind, start[i], end[i])) continue;
      const std::int64_t name = table.named_by.empty() ? 0 : whole(chunk[4], i);
      const std::pair key(name, whole(chunk[3], i));
      auto found = groups.find(key);
      if (found == groups.end() && groups.size() == most) {
        ++left_out;
        continue;
      }
      if (found == groups.end()) found = groups.try_emplace(key).first;
      Untimed& group = found->second;
      ++group.count;
      if (group.ids.size() < most_ids) group.ids.push_back(whole(chunk[2], i));
    }
  });
}

}  // namespace

UntimedWork find_untimed(store::Database& database, const std::function<void()>& check,
                         std::size_t most_groups) {
  Model names;
  const std::function<void(std::string_view)> checked = [&](std::string_view) { check(); };
  Reading reading(database, names, checked);
  UntimedWork work;
  for (const timeline::RecordTable& table : timeline::record_tables(database)) {
    if (table.kind != TrackKind::stream) continue;
    Groups groups;
    read_table(reading, table, most_groups - work.groups.size(), groups, work.left_out);
    for (auto& [key, group] : groups) {
      group.name = names.names[name_of_record(reading, table, key.first)].text;
      group.table = table.name;
      group.process = key.second;
      work.groups.push_back(std::move(group));
    }
  }
  std::ranges::stable_sort(work.groups, std::greater{}, &Untimed::count);
  return work;
}

std::string untimed_answer(const UntimedWork& work, std::size_t most_groups) {
  using nlohmann::json;
  json groups = json::array();
  std::int64_t left_out = work.left_out;
  for (const Untimed& each : work.groups) {
    if (groups.size() == most_groups) {
      left_out += each.count;
      continue;
    }
    groups.push_back({{"name", shortened(each.name, longest_untimed_name)},
                      {"table", each.table},
                      {"process", each.process},
                      {"count", each.count},
                      {"ids", each.ids}});
  }
  const json answer = {{"groups", std::move(groups)}, {"left_out", left_out}};
  return json_text(answer);
}

namespace questions {

std::string untimed(const Asked& asked) {
  if (asked.model.without_times == 0) return untimed_answer({});
  return untimed_answer(find_untimed(asked.database, asked.check));
}

}  // namespace questions

}  // namespace gpuprof::view
