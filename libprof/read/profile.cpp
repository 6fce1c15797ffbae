#include "libprof/read/profile.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "schema/enums.hpp"
#include "schema/traits.hpp"

namespace gpuprof::reading {
namespace {

bool is_column_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(
             text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

}  // namespace

std::string valid_times(std::string_view kind) {
  if (const schema::GpuKind* work = schema::gpu_kind(kind)) {
    return "start > 0 AND [" + std::string(work->end) + "] > start";
  }
  // Page faults, thrashing and remote maps are instants.
  if (kind == "UNIFIED_MEMORY_COUNTER") {
    using schema::unified_memory;
    return "start > 0 AND ([end] > start OR [end] = 0 AND counterKind IN (" +
           joined(std::array{unified_memory("CPU page faults"), unified_memory("page thrash"),
                             unified_memory("remote map")},
                  ", ") +
           "))";
  }
  return "start > 0 AND [end] >= start";
}

Profile::Profile(store::Database& database, Filter filter, NameStyle names,
                 std::function<void(std::string_view)> progress)
    : database_(database),
      snapshot_(database),
      tables_(database),
      filter_(std::move(filter)),
      progress_(std::move(progress)),
      names_(database, names),
      window_(filter_.window
                  ? *filter_.window
                  : find_window(tables_, filter_.from, filter_.to, [this] { return zero(); })) {}

bool Profile::has_rows(std::string_view kind) {
  const auto known = has_rows_.find(kind);
  if (known != has_rows_.end()) return known->second;
  const bool any =
      has(kind) && database_.prepare("SELECT 1 FROM " + table_name(kind) + " LIMIT 1").step();
  has_rows_.emplace(kind, any);
  return any;
}

store::Statement Profile::select(std::string_view kind,
                                 const std::vector<std::string_view>& columns,
                                 const std::string& rest) {
  const bool there = has(kind);
  std::string sql = "SELECT ";
  bool first = true;
  for (const std::string_view column : columns) {
    if (!first) sql += ", ";
    first = false;
    const bool is_name = is_column_name(column);
    if (!there || column.empty() || (is_name && !has_column(kind, column))) {
      sql += "0";
    } else {
      sql += is_name ? "[" + std::string(column) + "]" : std::string(column);
    }
  }
  if (!there) return database_.prepare(sql + " WHERE 0");
  return database_.prepare(sql + " FROM " + table_name(kind) + " " + rest);
}

std::int64_t Profile::zero() {
  if (!zero_) {
    progress_("looking for the first record");
    zero_ = zero_of_run(tables_).value_or(0);
  }
  return *zero_;
}

const std::vector<std::int64_t>& Profile::kernel_ids() {
  if (kernel_ids_) return *kernel_ids_;
  kernel_ids_.emplace();
  const Pattern wanted(filter_.kernels);
  std::set<std::int64_t> ids;
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    if (!schema::is_kernel_kind(work.kind) || !has(work.kind)) continue;
    auto names = database_.prepare("SELECT DISTINCT name FROM " + table_name(work.kind));
    while (names.step()) ids.insert(names.integer(0));
  }
  for (const std::int64_t id : ids) {
    if (wanted.found_in(names_.kernel(id))) kernel_ids_->push_back(id);
  }
  names_given_up_ = wanted.gave_up();
  return *kernel_ids_;
}

std::optional<columns::Filter> Profile::wanted_rows(std::string_view kind) {
  if (kind == left_out) return std::nullopt;
  columns::Filter wanted{.from = window_.from, .to = window_.to, .devices = filter_.devices};
  if (device) {
    const auto& chosen = wanted.devices;
    const bool is_chosen = chosen.empty() || std::ranges::find(chosen, *device) != chosen.end();
    if (!is_chosen && has_column(kind, "deviceId")) return std::nullopt;
    wanted.devices = {*device};
  }
  if (!filter_.kernels.empty()) {
    if (schema::is_kernel_kind(kind)) {
      wanted.names = kernel_ids();
    } else if (schema::is_gpu_kind(kind)) {
      return std::nullopt;
    }
  }
  return wanted;
}

std::string Profile::filter(std::string_view kind) {
  const auto wanted = wanted_rows(kind);
  if (!wanted) return "0";
  std::string condition = "1";
  const auto in = [&](const char* column, const std::vector<std::int64_t>& values) {
    condition.append(" AND ").append(column).append(" IN (" + joined(values, ", ") + ")");
  };
  if (has_column(kind, "deviceId") && !wanted->devices.empty()) in("deviceId", wanted->devices);
  if (wanted->names) in("name", *wanted->names);
  const std::string time(tables_.begin_column(table_name(kind)));
  if (!time.empty()) {
    if (wanted->from) condition += " AND " + time + " >= " + std::to_string(*wanted->from);
    if (wanted->to) condition += " AND " + time + " < " + std::to_string(*wanted->to);
  }
  return condition;
}

std::string Profile::timed(std::string_view kind) {
  return "WHERE " + valid_times(kind) + " AND " + filter(kind);
}

}  // namespace gpuprof::reading
