#include "libprof/report/latest_window.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "libprof/read/tables.hpp"
#include "libprof/report/finished_work.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {

void LatestWindow::find_first(store::Database& database) {
  if (first_) return;
  const auto look_at = [&](std::string_view kind) {
    const std::string table = reading::table_name(kind);
    if (!database.has_column(table, "start")) return;
    const auto first =
        database.integer("SELECT min(start) FROM main." + table + " WHERE start > 0");
    if (first && (!first_ || *first < *first_)) first_ = first;
  };
  for (const schema::GpuKind& kind : schema::gpu_kinds) look_at(kind.kind);
  for (const schema::ApiKind& kind : schema::api_kinds) look_at(kind.kind);
}

LatestWindow::Times LatestWindow::find(store::Database& database) {
  Times times;
  const auto look_at = [&](std::string_view kind, std::string_view end) {
    const std::string table = reading::table_name(kind);
    if (!database.has_column(table, end) || !database.has_column(table, "_id_")) return;
    times.to = std::max(times.to, latest_end(database, table, end));
  };
  for (const schema::GpuKind& kind : schema::gpu_kinds) look_at(kind.kind, kind.end);
  for (const schema::ApiKind& kind : schema::api_kinds) look_at(kind.kind, "end");
  if (times.to == 0) return times;
  find_first(database);
  if (times.to < std::numeric_limits<std::int64_t>::max()) ++times.to;
  times.from =
      std::max(times.to - std::min<std::int64_t>(last_.count(), times.to), first_.value_or(0));
  return times;
}

}  // namespace gpuprof::report
