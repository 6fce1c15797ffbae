#include "libprof/store/record_ring.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "schema/activity/all.hpp"
#include "schema/cpu_samples.hpp"
#include "schema/host_samples.hpp"
#include "schema/memory_calls.hpp"
#include "schema/traits.hpp"

namespace gpuprof::store {
namespace {

// The ring is let go in this number of parts.
constexpr int parts = 64;

// Records of one moment; all other tables say what these refer to.
bool is_of_a_moment(std::string_view table) {
  if (table == schema::CallStack::table.name || table == schema::DeviceMemory::table.name ||
      table == schema::HostSample::table.name || table == schema::CpuSample::table.name) {
    return true;
  }
  const auto kind = std::ranges::find_if(
      schema::kinds, [&](const schema::KindRef& each) { return each.table->name == table; });
  if (kind == schema::kinds.end()) return false;
  const int id = kind->info->id;
  return kind->info->group != schema::Group::topology && id != schema::Name::info.id &&
         id != schema::Module::info.id && id != schema::Function::info.id;
}

// Numbers of rows up to ?1 that stay: of ranges without an end, and of memory without a release.
std::string_view kept_rows(std::string_view table) {
  if (table == schema::Marker::table.name) {
    return "SELECT row FROM (SELECT min(_id_) AS row, sum(flags & 2) AS starts, "
           "sum(flags & 4) AS ends FROM main.CUPTI_ACTIVITY_KIND_MARKER WHERE _id_ <= ?1 "
           "GROUP BY processId, id) WHERE starts > 0 AND ends = 0";
  }
  if (table == schema::MarkerData::table.name) {
    return "SELECT data._id_ FROM main.CUPTI_ACTIVITY_KIND_MARKER_DATA AS data "
           "JOIN main.CUPTI_ACTIVITY_KIND_MARKER AS marker "
           "ON marker._id_ <= ?2 AND marker.processId = data.processId AND marker.id = data.id "
           "WHERE data._id_ <= ?1";
  }
  if (table == schema::Memory2::table.name) {
    // The other columns are those of the row with the highest number.
    return "SELECT row FROM (SELECT max(_id_) AS row, memoryOperationType AS operation "
           "FROM main.CUPTI_ACTIVITY_KIND_MEMORY2 WHERE _id_ <= ?1 "
           "GROUP BY processId, deviceId, address) WHERE operation = 1";
  }
  return "";
}

}  // namespace

void RecordRing::trim(Clock::time_point now) {
  if (is_due(now)) {
    marks_.push_back(mark(now));
    loaded_ = 0;
  }
  while (!marks_.empty() && is_too_much(now)) {
    const Mark oldest = std::move(marks_.front());
    marks_.pop_front();
    delete_up_to(oldest);
  }
}

bool RecordRing::is_due(Clock::time_point now) const {
  if (marks_.empty()) return true;
  if (limit_.time && now - marks_.back().time < *limit_.time / parts) return false;
  return limit_.bytes == 0 || loaded_ >= limit_.bytes / parts;
}

bool RecordRing::is_too_much(Clock::time_point now) {
  if (limit_.time && now - marks_.front().time >= *limit_.time) return true;
  return limit_.bytes > 0 && used() > empty_ + limit_.bytes;
}

std::uint64_t RecordRing::used() {
  const auto number = [&](const char* sql) {
    return static_cast<std::uint64_t>(database_.integer(sql).value_or(0));
  };
  return (number("PRAGMA main.page_count") - number("PRAGMA main.freelist_count")) *
         number("PRAGMA main.page_size");
}

RecordRing::Mark RecordRing::mark(Clock::time_point now) {
  Mark mark{now, {}};
  Statement tables = database_.prepare("SELECT name FROM main.sqlite_master WHERE type = 'table'");
  while (tables.step()) {
    const std::string table(tables.text(0));
    if (!is_of_a_moment(table)) continue;
    const auto last = database_.integer("SELECT max(_id_) FROM main." + quoted_name(table));
    if (last) mark.last[table] = *last;
  }
  return mark;
}

void RecordRing::delete_up_to(const Mark& mark) {
  // In the order of their names, so MARKER comes before MARKER_DATA.
  for (const auto& [table, last] : mark.last) {
    const std::string name = "main." + quoted_name(table);
    const std::string_view kept = kept_rows(table);
    std::string sql = "DELETE FROM " + name + " WHERE _id_ <= ?1";
    if (!kept.empty()) sql += " AND _id_ NOT IN (" + std::string(kept) + ")";
    Statement let_go = database_.prepare(sql);
    let_go.bind(1, last);
    if (table == schema::MarkerData::table.name) {
      const auto markers = mark.last.find(std::string(schema::Marker::table.name));
      let_go.bind(2, markers == mark.last.end() ? std::int64_t{0} : markers->second);
    }
    let_go.run();
    let_go_ += database_.changes();
    // An empty table numbers its rows from 1 again.
    if (database_.integer("SELECT max(_id_) FROM " + name)) continue;
    for (Mark& later : marks_) later.last.erase(table);
  }
}

std::optional<std::int64_t> RecordRing::first_time() {
  std::optional<std::int64_t> first;
  for (const schema::FirstTime& time : schema::first_times) {
    const std::string table = "CUPTI_ACTIVITY_KIND_" + std::string(time.kind);
    const std::string column(time.column);
    if (!database_.has_table(table)) continue;
    const auto earliest = database_.integer("SELECT min(" + column + ") FROM main." +
                                            quoted_name(table) + " WHERE " + column + " > 0");
    if (earliest && (!first || *earliest < *first)) first = earliest;
  }
  return first;
}

}  // namespace gpuprof::store
