#include <nlohmann/json.hpp>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/compute/memory/stacks.hpp"
#include "libprof/compute/memory/tables.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {
namespace {

using memory::By;
using memory::Table;
using nlohmann::json;

constexpr std::size_t most_peaks = 50, most_rows = 200;  // of a peak
constexpr std::size_t longest_owner = 4000;

json value_of(const memory::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return shortened(*text, longest_owner);
  return nullptr;
}

// The columns of a row by name.
json columns_of(const Table& table, const std::vector<memory::Value>& row,
                std::initializer_list<const char*> names) {
  json values = json::object();
  for (const char* name : names) values[name] = value_of(row[table.place(name)]);
  return values;
}

bool same_place(const std::vector<memory::Value>& a, const std::vector<memory::Value>& b) {
  return std::equal(a.begin(), a.begin() + 4, b.begin());
}

// Those of the place of `peak`, at most most_rows.
json rows_at(const Table& table, const std::vector<memory::Value>& peak,
             std::initializer_list<const char*> names) {
  json rows = json::array();
  for (const auto& row : table.rows) {
    if (rows.size() == most_rows) break;
    if (same_place(row, peak)) rows.push_back(columns_of(table, row, names));
  }
  return rows;
}

bool has_rows(store::Database& database, reading::Tables& tables, const char* table,
              const char* column) {
  if (!tables.has(table, column)) return false;
  return database.prepare("SELECT 1 FROM main." + std::string(table) + " LIMIT 1").step();
}

// How the owners of memory can be named in this file, the most exact first.
std::vector<By> ways(store::Database& database) {
  reading::Tables tables(database);
  std::vector<By> known;
  if (memory::has_stacks(database)) known.push_back(By::stack);
  if (has_rows(database, tables, "NVTX_PATH", "path")) known.push_back(By::nvtx);
  known.push_back(By::library);
  return known;
}

}  // namespace

// What was allocated when most was, by process, GPU and kind of memory: whose it was, and the
// largest allocations. `by`: how owners are named; if it is absent, as exactly as the file can.
std::string peak(const Asked& asked) {
  const std::vector<By> known = ways(asked.database);
  By by = known.front();
  if (const auto given = asked.words.find("by"); given != asked.words.end()) {
    by = memory::parse_by(given->second);
  }
  reading::Profile profile(asked.database, {}, reading::NameStyle::modern, [](std::string_view) {});
  const memory::Account account =
      memory::account(profile, {.by = by, .held = most_rows}, asked.check);
  json peaks = json::array(), names = json::array();
  for (const By each : known) names.push_back(memory::name_of(each));
  for (const auto& row : account.peaks.rows) {
    if (peaks.size() == most_peaks) break;
    json one = columns_of(account.peaks, row,
                          {"process_id", "device_id", "memory", "pool_type", "peak_bytes",
                           "peak_allocations", "relative_peak_time_ns"});
    if (one["peak_bytes"] == 0) continue;
    one["owners"] = rows_at(account.owners, row, {"owner", "at_peak_bytes", "at_peak_allocations"});
    one["held"] = rows_at(account.held, row, {"bytes", "owner", "relative_time_ns", "age_ns"});
    peaks.push_back(std::move(one));
  }
  return json_text({{"by", memory::name_of(by)}, {"ways", std::move(names)}, {"peaks", peaks}});
}

}  // namespace gpuprof::view::questions
