// Values over time: memory that is allocated, and PM samples.
#include <tuple>

#include "libprof/view/reading.hpp"
#include "schema/enums.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_counters = 256;

void add_counters(Reading& reading, auto& counters, const auto& make_path) {
  for (auto& [key, counter] : counters) {
    Track& track = reading.model.tracks.emplace_back();
    track.kind = TrackKind::counter;
    track.device = std::get<0>(key);
    track.path = make_path(key);
    track.records = static_cast<std::int64_t>(counter.time.size());
    track.counter = std::move(counter);
  }
}

void read_memory(Reading& reading) {
  const std::string table = reading::table_name("MEMORY2");
  if (!reading.tables.has("MEMORY_USE", "inUse") || !reading.tables.has(table, "memoryKind")) {
    return;
  }
  const std::string pool = reading.tables.has(table, "poolType") ? "m.poolType" : "0";
  auto rows = reading.database.prepare(
      "SELECT m.timestamp, u.inUse, m.deviceId, m.processId, m.memoryKind, " + pool +
      " FROM main." + table +
      " AS m JOIN main.MEMORY_USE AS u ON u.operation = m._id_ WHERE m.timestamp > 0 "
      "ORDER BY m.timestamp, m._id_");
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Counter> counters;
  std::size_t count = 0;
  while (rows.step()) {
    if (++count % 65536 == 0) reading.check("reading allocations");
    const std::tuple key{rows.integer(2), rows.integer(3), rows.integer(4), rows.integer(5)};
    auto found = counters.find(key);
    if (found == counters.end()) {
      if (counters.size() == most_counters) continue;
      found = counters.try_emplace(key).first;
    }
    found->second.unit = "bytes";
    found->second.time.push_back(rows.integer(0));
    found->second.value.push_back(static_cast<double>(rows.integer(1)));
  }
  add_counters(reading, counters, [&](const auto& key) {
    const auto [device, process, kind, pool_type] = key;
    std::string name(schema::enum_name("CUpti_ActivityMemoryKind", kind));
    name = (name.empty() ? "kind " + std::to_string(kind) : name) + " memory";
    if (pool_type != 0) name += " from pools";
    return std::vector<std::string>{reading.names.device(device), reading.process(process), name};
  });
}

void read_pm_samples(Reading& reading) {
  if (!reading.tables.has("PM_METRIC", "place") || !reading.tables.has("PM_SAMPLE", "part")) {
    return;
  }
  struct Metric {
    std::int64_t part, place;
    std::string name, unit;
  };
  std::vector<Metric> metrics;
  auto known = reading.database.prepare(
      "SELECT part, place, name, unit FROM main.PM_METRIC ORDER BY part, place LIMIT 256");
  while (known.step()) {
    const std::int64_t place = known.integer(1);
    if (place < 1 || place > 16) continue;
    metrics.push_back(
        {known.integer(0), place, std::string(known.text(2)), std::string(known.text(3))});
  }
  auto rows = reading.database.prepare(
      "SELECT start, part, deviceId, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14,"
      " v15, v16 FROM main.PM_SAMPLE WHERE start > 0 ORDER BY start");
  std::map<std::tuple<std::int64_t, std::size_t>, Counter> counters;  // device, metric
  std::size_t count = 0;
  while (rows.step()) {
    if (++count % 65536 == 0) reading.check("reading PM samples");
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const int column = static_cast<int>(metrics[i].place) + 2;
      if (metrics[i].part != rows.integer(1) || rows.is_null(column)) continue;
      auto found = counters.find({rows.integer(2), i});
      if (found == counters.end()) {
        if (counters.size() == most_counters) continue;
        found = counters.try_emplace({rows.integer(2), i}).first;
      }
      found->second.unit = metrics[i].unit;
      found->second.time.push_back(rows.integer(0));
      found->second.value.push_back(rows.real(column));
    }
  }
  add_counters(reading, counters, [&](const auto& key) {
    return std::vector<std::string>{reading.names.device(std::get<0>(key)), "PM samples",
                                    metrics[std::get<1>(key)].name};
  });
}

}  // namespace

void read_counters(Reading& reading) {
  read_memory(reading);
  read_pm_samples(reading);
}

}  // namespace gpuprof::view
