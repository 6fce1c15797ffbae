#include "libprof/terminal/newest_work.hpp"

#include <algorithm>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/communication.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/read/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::terminal {
namespace {

using compute::GpuWork;

constexpr std::int64_t most_rows = 100'000;

struct Newest {
  std::vector<GpuWork> work;
  std::int64_t from = INT64_MIN;  // before this, not all work of each table is in `work`
};

void read_kind(reading::Tables& tables, const compute::Communication& communication,
               std::size_t place, std::int64_t after, Newest& newest) {
  const schema::GpuKind& kind = schema::gpu_kinds[place];
  const std::string table = reading::table_name(kind.kind);
  for (const std::string_view column : {std::string_view("_id_"), std::string_view("deviceId"),
                                        std::string_view("start"), kind.end}) {
    if (!tables.has(table, column)) return;
  }
  const auto column = [&](std::string_view name) {
    const bool there = !name.empty() && tables.has(table, name);
    return ", " + (there ? store::quoted_name(name) : std::string("0"));
  };
  const std::string end = store::quoted_name(kind.end);
  auto rows = tables.database().prepare(
      "SELECT deviceId, start, " + end + column(kind.named_by) + column("correlationId") +
      column("processId") + column("graphNodeId") + " FROM main." + table +
      " WHERE _id_ > ?1 AND start > 0 AND " + end + " > start ORDER BY _id_ DESC LIMIT ?2");
  rows.bind(1, after).bind(2, most_rows);
  std::int64_t count = 0, earliest = INT64_MAX;
  while (rows.step()) {
    GpuWork work{.device = rows.integer(0), .begin = rows.integer(1), .end = rows.integer(2)};
    work.kind = static_cast<std::uint8_t>(place);
    if (kind.is_kernel()) {
      work.name = static_cast<std::int32_t>(rows.integer(3));
      work.communicates =
          communication.has(work.name, rows.integer(4), rows.integer(5), rows.integer(6));
    }
    if (kind.type == "memcpy") work.direction = static_cast<std::int16_t>(rows.integer(3));
    newest.work.push_back(work);
    earliest = std::min(earliest, work.begin);
    ++count;
  }
  if (count == most_rows) newest.from = std::max(newest.from, earliest);
}

constexpr std::string_view name_of(compute::DeviceTime::Activity activity) {
  using enum compute::DeviceTime::Activity;
  switch (activity) {
    case compute: return "compute";
    case communication: return "communication";
    case copy: return "copy";
    case set: return "set";
  }
  return {};
}

}  // namespace

NewestWork read_newest(store::Database& database,
                       const std::map<std::string, std::int64_t>& after) {
  Newest newest;
  reading::Tables tables(database);
  const compute::Communication communication(database, most_rows);
  for (std::size_t place = 0; place < schema::gpu_kinds.size(); ++place) {
    const auto known = after.find(reading::table_name(schema::gpu_kinds[place].kind));
    read_kind(tables, communication, place, known == after.end() ? 0 : known->second, newest);
  }
  std::erase_if(newest.work, [&](const GpuWork& work) { return work.begin < newest.from; });
  if (newest.work.empty()) return {};
  std::ranges::stable_sort(newest.work, {}, &GpuWork::begin);
  std::map<std::int64_t, compute::DeviceTime> devices;
  std::int64_t last = INT64_MIN;
  for (const GpuWork& work : newest.work) {
    devices[work.device].add(work);
    last = std::max(last, work.end);
  }
  NewestWork result{.span = saturating_subtract(last, newest.work.front().begin),
                    .gpus = static_cast<std::int64_t>(devices.size())};
  for (auto& [id, device] : devices) {
    device.finish();
    for (const auto& [doing, part] : device.take_parts()) {
      result.times.add(name_of(doing.first), part.duration);
    }
    result.times.add("idle", saturating_subtract(result.span, device.busy()));
  }
  return result;
}

}  // namespace gpuprof::terminal
