#include "libprof/read/counters.hpp"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "schema/enums.hpp"

namespace gpuprof::reading {
namespace {

constexpr std::size_t most_counters = 256;

std::string times(const Window& window, const std::string& column) {
  std::string where = " WHERE " + column + " > 0";
  if (window.from) where += " AND " + column + " >= " + std::to_string(*window.from);
  if (window.to) where += " AND " + column + " < " + std::to_string(*window.to);
  return where;
}

class Visitor {
  using Counters = std::map<std::array<std::int64_t, 4>, Counter>;

 public:
  Visitor(store::Database& database, const Window& window, const std::function<void()>& check,
          const std::function<void(const Counter&, std::int64_t, double)>& visit)
      : database_(database), tables_(database), window_(window), check_(check), visit_(visit) {}

  void memory() {
    const std::string table = table_name("MEMORY2");
    if (!tables_.has("MEMORY_USE", "inUse") || !tables_.has(table, "memoryKind")) return;
    const std::string pool = tables_.has(table, "poolType") ? "m.poolType" : "0";
    auto rows = database_.prepare(
        "SELECT m.timestamp, u.inUse, m.deviceId, m.processId, m.memoryKind, " + pool +
        " FROM main." + table + " AS m JOIN main.MEMORY_USE AS u ON u.operation = m._id_" +
        times({.from = {}, .to = window_.to}, "m.timestamp") + " ORDER BY m.timestamp, m._id_");
    Counters counters;
    const auto use = [&](const Counters::key_type& key, std::int64_t time, std::int64_t bytes) {
      give(counters, {.of = Counter::Of::memory, .device = key[0], .process = key[1], .key = key},
           time, static_cast<double>(bytes), [](Counter& counter) {
             const std::int64_t kind = counter.key[2];
             std::string name(schema::enum_name("CUpti_ActivityMemoryKind", kind));
             counter.name = (name.empty() ? "kind " + std::to_string(kind) : name) + " memory" +
                            (counter.key[3] != 0 ? " from pools" : "");
             counter.unit = "bytes";
           });
    };
    // What was allocated before the window exists when it begins.
    std::map<Counters::key_type, std::int64_t> before;
    const auto begin = [&] {
      for (const auto& [key, bytes] : before) use(key, *window_.from, bytes);
      before.clear();
    };
    while (rows.step()) {
      const std::int64_t time = rows.integer(0), bytes = rows.integer(1);
      const Counters::key_type key{rows.integer(2), rows.integer(3), rows.integer(4),
                                   rows.integer(5)};
      if (window_.from && time < *window_.from) {
        if (before.size() < most_counters || before.contains(key)) before[key] = bytes;
        continue;
      }
      begin();
      use(key, time, bytes);
    }
    begin();
  }

  void samples() {
    if (!tables_.has("PM_METRIC", "place") || !tables_.has("PM_SAMPLE", "part")) return;
    struct Metric {
      std::int64_t part, place;
      std::string name, unit;
    };
    std::vector<Metric> metrics;
    auto known = database_.prepare(
        "SELECT part, place, name, unit FROM main.PM_METRIC ORDER BY part, place LIMIT 256");
    while (known.step()) {
      const std::int64_t place = known.integer(1);
      if (place < 1 || place > 16) continue;
      metrics.push_back(
          {known.integer(0), place, std::string(known.text(2)), std::string(known.text(3))});
    }
    auto rows = database_.prepare(
        "SELECT start, part, deviceId, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14,"
        " v15, v16 FROM main.PM_SAMPLE" +
        times(window_, "start") + " ORDER BY start");
    Counters counters;
    while (rows.step()) {
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        const int column = static_cast<int>(metrics[i].place) + 2;
        if (metrics[i].part != rows.integer(1) || rows.is_null(column)) continue;
        give(counters,
             {.of = Counter::Of::samples,
              .device = rows.integer(2),
              .key = {rows.integer(2), static_cast<std::int64_t>(i)}},
             rows.integer(0), rows.real(column), [&](Counter& counter) {
               counter.name = metrics[i].name;
               counter.unit = metrics[i].unit;
             });
      }
    }
  }

  void environment() {
    struct Reading {
      const char *column, *name, *unit;
    };
    constexpr Reading readings[] = {
        {"smClock", "clock of the multiprocessors", "MHz"},
        {"memoryClock", "clock of the memory", "MHz"},
        {"gpuTemperature", "temperature", "Celsius"},
        {"power", "power", "mW"},
        {"fanSpeed", "fan", "%"},
    };
    const std::string table = table_name("ENVIRONMENT");
    std::string columns;
    for (const Reading& each : readings) {
      columns += ", " + std::string(tables_.has(table, each.column) ? each.column : "NULL");
    }
    if (!tables_.has(table, "timestamp") || !tables_.has(table, "deviceId")) return;
    auto rows = database_.prepare("SELECT timestamp, deviceId" + columns + " FROM main." + table +
                                  times(window_, "timestamp") + " ORDER BY timestamp");
    Counters counters;
    while (rows.step()) {
      for (std::size_t i = 0; i < std::size(readings); ++i) {
        const int column = static_cast<int>(i) + 2;
        if (rows.is_null(column)) continue;
        give(counters,
             {.of = Counter::Of::environment,
              .device = rows.integer(1),
              .key = {rows.integer(1), static_cast<std::int64_t>(i)}},
             rows.integer(0), rows.real(column), [&](Counter& counter) {
               counter.name = readings[i].name;
               counter.unit = readings[i].unit;
             });
      }
    }
  }

 private:
  template <class Describe>
  void give(Counters& counters, Counter counter, std::int64_t time, double value,
            const Describe& describe) {
    if (++count_ % 65536 == 0) check_();
    if (!std::isfinite(value)) return;
    auto found = counters.find(counter.key);
    if (found == counters.end()) {
      if (counters.size() == most_counters) return;
      describe(counter);
      found = counters.emplace(counter.key, std::move(counter)).first;
    }
    visit_(found->second, time, value);
  }

  store::Database& database_;
  Tables tables_;
  const Window& window_;
  const std::function<void()>& check_;
  const std::function<void(const Counter&, std::int64_t, double)>& visit_;
  std::size_t count_ = 0;
};

}  // namespace

void visit_counters(store::Database& database, const Window& window,
                    const std::function<void()>& check,
                    const std::function<void(const Counter&, std::int64_t, double)>& visit) {
  Visitor visitor(database, window, check, visit);
  visitor.memory();
  visitor.samples();
  visitor.environment();
}

}  // namespace gpuprof::reading
