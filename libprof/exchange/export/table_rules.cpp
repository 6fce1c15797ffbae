#include "libprof/exchange/export/table_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "schema/activity/all.hpp"
#include "schema/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::exporting {
namespace {

using reading::kind_of;

std::optional<schema::Group> group_of(std::string_view table) {
  for (const schema::KindRef& kind : schema::kinds) {
    if (same_name(kind.table->name, table)) return kind.info->group;
  }
  return std::nullopt;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return same_name(each, name); });
}

// "Concurrent-Kernel" and "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL" -> "CONCURRENT_KERNEL".
std::string plain(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text.starts_with(reading::kind_prefix) ? text.substr(reading::kind_prefix.size()) : text;
}

bool names_table(const std::string& word, std::string_view table) {
  if (word == "CPU_SAMPLING") return is_cpu_sampling(table);
  const std::string_view kind = kind_of(table);
  if (kind.empty()) return false;
  if (kind == word) return true;
  if (word == "KERNEL") return kind.ends_with("_KERNEL");
  if (word == "MEMCPY") return kind == "MEMCPY2";
  if (word == "MARKER") return kind == "MARKER_DATA";
  if (word == "EVENT" || word == "METRIC") {
    return kind == word + "_INSTANCE" || kind.starts_with("INSTANTANEOUS_" + word);
  }
  const auto group = group_of(table);
  for (const schema::GroupInfo& info : schema::groups) {
    if (info.name.empty() || plain(info.name) != word) continue;
    const bool kernel = kind.ends_with("KERNEL");  // KERNEL and CDP_KERNEL are not in that group
    if (group == info.group || (info.group == schema::Group::gpu && kernel)) return true;
  }
  return false;
}

}  // namespace

bool is_gpu_kind(std::string_view kind) {
  return std::ranges::any_of(
      schema::gpu_kinds, [&](const schema::GpuKind& work) { return same_name(work.kind, kind); });
}

bool is_api_kind(std::string_view kind) {
  return std::ranges::any_of(
      schema::api_kinds, [&](const schema::ApiKind& calls) { return same_name(calls.kind, kind); });
}

bool is_computed_from_markers(std::string_view table) {
  return is_one_of(std::array<std::string_view, 2>{"NVTX_RANGE", "NVTX_PAYLOAD"}, table);
}

bool is_cpu_sampling(std::string_view table) {
  return name_starts_with(table, "coll") || name_starts_with(table, "prof");
}

bool is_always_kept(std::string_view table) {
  return group_of(table) == schema::Group::topology ||
         is_one_of(std::array<std::string_view, 3>{"NAME", "FUNCTION", "SOURCE_LOCATOR"},
                   kind_of(table));
}

bool holds_records(std::string_view table) {
  return (!kind_of(table).empty() || is_cpu_sampling(table)) && !is_always_kept(table);
}

std::set<std::string> tables_named(const std::vector<std::string>& words, store::Database& file) {
  std::set<std::string> candidates;
  for (const reading::SchemaObject& object : reading::read_schema(file)) {
    if (object.type == "table") candidates.insert(object.name);
  }
  for (const schema::Table* table : schema::all_tables) {
    const bool is_kept =
        table->origin == schema::Origin::words || table->origin == schema::Origin::run;
    if (!is_kept) candidates.emplace(table->name);
  }
  std::set<std::string> chosen;
  const auto choose = [&](const std::string& name) {
    bool found = false;
    for (const std::string& table : candidates) {
      if (!names_table(name, table)) continue;
      chosen.insert(table);
      found = true;
    }
    return found;
  };
  for (const std::string& word : words) {
    const std::string name = plain(word);
    // Views have plural names: kernels, memcpys.
    if (!choose(name) && !(name.ends_with('S') && choose(name.substr(0, name.size() - 1)))) {
      throw Error("there are no records named " + word,
                  "name groups of --trace (gpu, api, nvtx, ...), kinds (kernel, memcpy, runtime, "
                  "...) or tables",
                  ExitCode::bad_option);
    }
  }
  return chosen;
}

}  // namespace gpuprof::exporting
