#include "libprof/report/contents.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "libprof/base/saturating.hpp"
#include "libprof/read/cost.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/read/record_count.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

using Json = nlohmann::ordered_json;
using Show = std::function<void(std::string_view)>;

// Larger files are not read whole.
constexpr std::int64_t largest_read = 512 << 20;
constexpr std::int64_t rows_at_each_end = 10'000;

Json value(const store::Statement& row, int column) {
  if (row.is_null(column)) return nullptr;
  const std::string text(row.text(column));
  const std::string integer = std::to_string(row.integer(column));
  if (text == integer) return row.integer(column);
  return text;
}

// The rows of a query as objects; empty if a table or column is missing. Damage is thrown.
Json objects(store::Database& database, const std::string& sql) {
  Json all = Json::array();
  try {
    auto row = database.prepare(sql);
    while (row.step()) {
      Json& object = all.emplace_back(Json::object());
      for (int i = 0; i < row.column_count(); ++i) {
        object[std::string(row.column_name(i))] = value(row, i);
      }
    }
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::missing) throw;
  }
  return all;
}

std::string format_name(reading::Format format) {
  switch (format) {
    case reading::Format::gpuprof: return "gpuprof";
    case reading::Format::nvprof: return "nvprof";
    case reading::Format::nsight_systems: return "nsight-systems";
    case reading::Format::other_database: return "other-database";
    case reading::Format::no_database: return "no-database";
  }
  return "";
}

std::string state(const reading::ProfileFile& file) {
  if (file.problem()) return "unreadable";
  if (file.damaged()) return "damaged";
  if (file.unfinished()) return file.in_use() ? "being written" : "unfinished";
  return file.in_use() ? "open in another process" : "complete";
}

// Row counts and times of the record tables.
class Records {
 public:
  Records(store::Database& database, bool ids_count, bool all, const Show& show)
      : database_(database), tables_(database), ids_count_(ids_count), all_(all), show_(show) {}

  void read(Json& info) {
    Json records = Json::object();
    for (const reading::SchemaObject& object : reading::read_schema(database_)) {
      if (object.type != "table" || reading::kind_of(object.name).empty()) continue;
      show_("reading " + object.name);
      const std::string kind(reading::kind_of(object.name));
      if (const std::int64_t rows = count(object.name)) records[kind] = rows;
      find_times(object.name);
    }
    info["records"] = records;
    info["records_estimated"] = estimated_;
    info["first_ns"] = first_ ? Json(*first_) : Json();
    info["last_ns"] = last_ ? Json(*last_) : Json();
    info["times_estimated"] = !all_;
  }

 private:
  std::int64_t count(const std::string& table) {
    const bool by_ids = !all_ && tables_.has(table, "_id_");
    const std::int64_t rows = reading::count_records(tables_, table, by_ids);
    estimated_ |= by_ids && !ids_count_ && rows > 0;
    return rows;
  }

  void find_times(const std::string& table) {
    const std::string begin(tables_.begin_column(table));
    if (begin.empty()) return;
    const std::string last(tables_.end_column(table));
    const std::string end = last.empty() ? begin : "max(" + begin + ", [" + last + "])";
    const std::string rows = "SELECT " + begin + " AS t0, " + end + " AS t1 FROM " +
                             store::quoted_name(table) + " NOT INDEXED";
    std::string from = rows;
    if (!all_ && tables_.has(table, "_id_")) {
      const std::string limit = " LIMIT " + std::to_string(rows_at_each_end);
      from = "SELECT * FROM (" + rows + " ORDER BY _id_" + limit + ") UNION ALL SELECT * FROM (" +
             rows + " ORDER BY _id_ DESC" + limit + ")";
    }
    auto times = database_.prepare("SELECT min(t0), max(t1) FROM (" + from + ") WHERE t0 > 0");
    if (!times.step() || times.is_null(0)) return;
    first_ = std::min(first_.value_or(times.integer(0)), times.integer(0));
    last_ = std::max(last_.value_or(times.integer(1)), times.integer(1));
  }

  store::Database& database_;
  reading::Tables tables_;
  bool ids_count_;
  bool all_;
  const Show& show_;
  bool estimated_ = false;
  std::optional<std::int64_t> first_, last_;
};

Json read_run(store::Database& database) {
  Json run = Json::object();
  for (const Json& row : objects(database, "SELECT key, value FROM RUN")) {
    if (row["key"].is_string()) run[row["key"].get<std::string>()] = row["value"];
  }
  return run;
}

Json read_processes(store::Database& database, bool all) {
  Json processes = objects(
      database,
      "SELECT processId, executable, command_line, exit_status, exit_signal, cupti_version, "
      "driver_version, goodbye, salvaged FROM PROCESS ORDER BY number");
  if (!processes.empty()) return processes;
  // nvprof's files have no list of processes.
  const std::string some = all ? "" : " LIMIT " + std::to_string(rows_at_each_end);
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (!calls.nvprofs) continue;
    processes = objects(database, "SELECT DISTINCT processId FROM (SELECT processId FROM " +
                                      reading::table_name(calls.kind) + some + ") ORDER BY 1");
    if (!processes.empty()) break;
  }
  return processes;
}

Json cost(store::Database& database) {
  const reading::Cost cost = reading::read_cost(database);
  if (!cost.known()) return nullptr;
  Json parts = Json::object();
  for (const reading::Cost::Part& part : cost.parts) parts[part.kind] = part.ns;
  return {{"text", reading::text_of(cost)},
          {"recorded_ns", cost.recorded},
          {"program_ns", cost.of_program()},
          {"parts_ns", std::move(parts)},
          {"start_ns", cost.start},
          {"end_ns", cost.end},
          {"collector_cpu_ns", cost.background},
          {"gpuprof_cpu_ns", cost.launcher},
          {"sent_bytes", cost.sent},
          {"arena_bytes", cost.arena},
          {"gpuprof_bytes", cost.launcher_memory}};
}

// Throws what reading the damaged part would throw.
void check(store::Database& database) {
  const std::string found = database.text("PRAGMA quick_check(1)").value_or("ok");
  if (found == "ok") return;
  throw store::DatabaseError(found, "", ExitCode::import_failed,
                             store::DatabaseError::Kind::damaged);
}

void read_database(const reading::ProfileFile& file, store::Database& database,
                   const ContentsOptions& options, const Show& show, Json& info) {
  const bool all = options.exact || file.size() + file.log_size() <= largest_read;
  if (all) check(database);
  info["run"] = read_run(database);
  info["processes"] = read_processes(database, all);
  info["devices"] =
      objects(database,
              "SELECT DISTINCT d.id, s.value AS name, d.computeCapabilityMajor || '.' || "
              "d.computeCapabilityMinor AS compute_capability, "
              "d.globalMemorySize AS memory_bytes FROM " +
                  reading::table_name("DEVICE") +
                  " d LEFT JOIN StringTable s ON s._id_ = d.name AND d.name "
                  "<> 0 ORDER BY d.id");
  info["page_size"] = database.integer("PRAGMA page_size").value_or(0);
  reading::Tables tables(database);
  const bool ids_count = file.numbers_records() && reading::numbers_records(tables);
  Records(database, ids_count, all, show).read(info);
  info["cost"] = cost(database);
  info["stalled"] = Json::array();
  // Without indexes all work is read, and of a recording that was killed the end is not known.
  if (!file.unfinished() || (all && file.in_use())) {
    info["stalled"] = StalledWork().read(database, options.hang_after);
  }
  info["losses"] = objects(database, "SELECT value, name, kind, process_id, help FROM losses");
  info["diagnostics"] =
      objects(database,
              "SELECT time, processId AS process_id, severity, statistic, text FROM DIAGNOSTIC "
              "ORDER BY rowid");
}

}  // namespace

Json read_contents(reading::ProfileFile& file, const std::string& name,
                   const ContentsOptions& options, const Show& show) {
  Json info{{"file", name},
            {"format", format_name(file.format())},
            {"description", file.description()},
            {"version", file.version() ? Json(*file.version()) : Json()},
            {"size_bytes", file.size()},
            {"log_bytes", file.log_size()}};
  if (!file.problem()) {
    file.read(
        [&](store::Database& database) { read_database(file, database, options, show, info); },
        show);
  }
  info["state"] = state(file);
  info["notes"] = file.notes();
  if (file.problem()) info["problem"] = file.problem()->what();
  return info;
}

}  // namespace gpuprof::report
