// gpuprof info: what is in a file.
#include <CLI/CLI.hpp>
#include <array>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/store/profile_file.hpp"
#include "libprof/store/rescue.hpp"
#include "schema/database.hpp"

namespace gpuprof::app {
namespace {

using Json = nlohmann::ordered_json;

// Larger files are not read as a whole.
constexpr std::int64_t largest_read = 512 << 20;
constexpr std::int64_t rows_at_each_end = 10'000;
constexpr std::string_view prefix = "CUPTI_ACTIVITY_KIND_";

struct Arguments {
  std::string file;
  bool json = false;
  bool exact = false;
};

Json value(const store::Statement& row, int column) {
  if (row.is_null(column)) return nullptr;
  const std::string text(row.text(column));
  const std::string integer = std::to_string(row.integer(column));
  if (text == integer) return row.integer(column);
  return text;
}

// The rows of a query as objects. None if a table or column is not there; damage is thrown.
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

std::string format_name(store::Format format) {
  switch (format) {
    case store::Format::gpuprof: return "gpuprof";
    case store::Format::nvprof: return "nvprof";
    case store::Format::nsight_systems: return "nsight-systems";
    case store::Format::other_database: return "other-database";
    case store::Format::no_database: return "no-database";
  }
  return "";
}

std::string state(const store::ProfileFile& file) {
  if (file.problem()) return "unreadable";
  if (file.damaged()) return "damaged";
  if (file.unfinished()) return file.in_use() ? "being written" : "unfinished";
  return file.in_use() ? "open in another process" : "complete";
}

// Rows and times of the tables of records.
class Tables {
 public:
  Tables(store::Database& database, bool ids_count, bool all, Progress& progress)
      : database_(database), ids_count_(ids_count), all_(all), progress_(progress) {}

  void read(Json& info) {
    Json records = Json::object();
    for (const store::SchemaObject& object : store::read_schema(database_)) {
      if (object.type != "table" || !name_starts_with(object.name, prefix)) continue;
      progress_.show("reading " + object.name);
      look_at_columns(object.name);
      const std::string kind = object.name.substr(prefix.size());
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
  void look_at_columns(const std::string& table) {
    columns_.clear();
    for (store::Database::Column& column : database_.columns(table)) {
      columns_.insert(std::move(column.name));
    }
  }

  std::int64_t count(const std::string& table) {
    const std::string from = " FROM " + store::quoted_name(table);
    if (all_ || !columns_.contains("_id_")) {
      return database_.integer("SELECT count(*)" + from).value_or(0);
    }
    const auto first = database_.integer("SELECT min(_id_)" + from);
    if (!first) return 0;
    const std::int64_t last = database_.integer("SELECT max(_id_)" + from).value_or(*first);
    const std::int64_t rows = saturating_add(saturating_subtract(last, *first), 1);
    estimated_ |= !ids_count_ && rows > 0;
    return rows;
  }

  // The first of these columns that the table has; "" if it has none.
  std::string first_of(std::span<const std::string_view> names) const {
    for (const std::string_view name : names) {
      if (columns_.contains(std::string(name))) return std::string(name);
    }
    return {};
  }

  void find_times(const std::string& table) {
    const std::string begin = first_of(schema::begin_columns);
    if (begin.empty()) return;
    const std::string last = first_of(schema::end_columns);
    const std::string end = last.empty() ? begin : "max(" + begin + ", [" + last + "])";
    const std::string rows = "SELECT " + begin + " AS t0, " + end + " AS t1 FROM " +
                             store::quoted_name(table) + " NOT INDEXED";
    std::string from = rows;
    if (!all_ && columns_.contains("_id_")) {
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
  bool ids_count_;
  bool all_;
  Progress& progress_;
  std::set<std::string, NameLess> columns_;
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
  // nvprof's files have no list.
  const std::string some = all ? "" : " LIMIT " + std::to_string(rows_at_each_end);
  for (const char* kind : {"RUNTIME", "DRIVER"}) {
    processes = objects(database, "SELECT DISTINCT processId FROM (SELECT processId FROM " +
                                      std::string(prefix) + kind + some + ") ORDER BY 1");
    if (!processes.empty()) break;
  }
  return processes;
}

// Throws what a reader of the damaged part would.
void check(store::Database& database) {
  const std::string found = database.text("PRAGMA quick_check(1)").value_or("ok");
  if (found == "ok") return;
  throw store::DatabaseError(found, "", ExitCode::import_failed,
                             store::DatabaseError::Kind::damaged);
}

void read_contents(const store::ProfileFile& file, store::Database& database, bool exact,
                   Progress& progress, Json& info) {
  const bool all = exact || file.size() + file.log_size() <= largest_read;
  if (all) check(database);
  info["run"] = read_run(database);
  info["processes"] = read_processes(database, all);
  info["devices"] =
      objects(database,
              "SELECT DISTINCT d.id, s.value AS name, d.computeCapabilityMajor || '.' || "
              "d.computeCapabilityMinor AS compute_capability, "
              "d.globalMemorySize AS memory_bytes FROM " +
                  std::string(prefix) +
                  "DEVICE d LEFT JOIN StringTable s ON s._id_ = d.name AND d.name "
                  "<> 0 ORDER BY d.id");
  info["page_size"] = database.integer("PRAGMA page_size").value_or(0);
  // Rows of our recordings are numbered without gaps.
  const bool ids_count = file.format() == store::Format::gpuprof && !file.damaged() &&
                         !info["run"].contains("derived_from");
  Tables(database, ids_count, all, progress).read(info);
  info["losses"] = objects(database, "SELECT value, name, kind, process_id, help FROM losses");
  info["diagnostics"] =
      objects(database,
              "SELECT time, processId AS process_id, severity, statistic, text FROM DIAGNOSTIC "
              "ORDER BY rowid");
}

// "13.0" of 13000, "13.5" of 130500.
std::string cuda_version(const Json& number) {
  if (!number.is_number_integer()) return "";
  const std::int64_t n = number;
  const std::int64_t release = n >= 100'000 ? n / 10 : n;
  if (release < 1000) return "API version " + std::to_string(n);
  return std::to_string(release / 1000) + "." + std::to_string(release % 1000 / 10);
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

std::string seconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(ns) * 1e-9);
  return text.data();
}

std::string date(std::int64_t ns) {
  const std::time_t second = ns / 1'000'000'000;
  std::tm parts{};
  std::array<char, 64> text{};
  gmtime_r(&second, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string bytes(std::int64_t size) {
  double value = static_cast<double>(size);
  std::array<const char*, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, ++unit;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

class Text {
 public:
  explicit Text(const Json& info) : info_(info) {}

  void print() {
    std::cout << printable(plain(info_["file"])) << '\n';
    line("kind", plain(info_["description"]));
    const std::int64_t log = info_["log_bytes"];
    line("size", bytes(info_["size_bytes"]) + (log ? ", and " + bytes(log) + " in its log" : ""));
    line("state", plain(info_["state"]));
    for (const Json& note : info_["notes"]) line("", plain(note));
    if (!info_.contains("records")) return;
    print_run();
    print_processes();
    for (const Json& device : info_["devices"]) {
      line("device " + plain(device["id"]),
           plain(device["name"]) + ", compute capability " + plain(device["compute_capability"]) +
               ", " +
               bytes(device["memory_bytes"].is_number() ? device["memory_bytes"].get<std::int64_t>()
                                                        : 0));
    }
    print_records();
    for (const Json& loss : info_["losses"]) {
      line("lost", plain(loss["value"]) + " " + plain(loss["name"]) + " " + plain(loss["kind"]));
    }
    if (info_["losses"].empty() && info_["format"] == "gpuprof") line("lost", "nothing");
    constexpr std::size_t most = 20;
    std::size_t shown = 0;
    for (const Json& said : info_["diagnostics"]) {
      if (++shown > most) break;
      const std::string process = plain(said["process_id"]);
      line("said", (process == "0" ? "" : "process " + process + ": ") + plain(said["text"]));
    }
    if (shown > most) {
      line("", std::to_string(info_["diagnostics"].size() - most) + " more in DIAGNOSTIC");
    }
  }

 private:
  static void line(std::string label, const std::string& text) {
    if (text.empty()) return;
    label.resize(std::max<std::size_t>(label.size() + 1, 13), ' ');
    std::cout << "  " << printable(label) << printable(text) << '\n';
  }

  std::string run(const char* key) const {
    const Json& all = info_["run"];
    return all.contains(key) ? plain(all[key]) : "";
  }

  std::int64_t run_number(const char* key) const {
    const Json& all = info_["run"];
    return all.contains(key) && all[key].is_number() ? all[key].get<std::int64_t>() : 0;
  }

  void print_run() const {
    line("command", run("command_line"));
    line("part", run("derived_from"));
    const std::string host = run("host_name"), system = run("operating_system");
    line(host.empty() ? "system" : "host",
         host + (host.empty() || system.empty() ? "" : ", ") + system);
    const std::int64_t began = run_number("t0_realtime_ns"), ended = run_number("t1_realtime_ns");
    if (began)
      line("began",
           date(began) + (ended ? ", took " + seconds(saturating_subtract(ended, began)) : ""));
    if (!run("exit_status").empty()) line("ended", "with status " + run("exit_status"));
    if (!run("exit_signal").empty()) line("ended", "by signal " + run("exit_signal"));
    line("driver", run("driver_version"));
    line("collected", run("trace_groups"));
    const std::string left_out = run("calls_left_out");
    if (!left_out.empty() && left_out != "none") {
      line("left out", "calls of " + std::to_string(1 + std::ranges::count(left_out, ',')) +
                           " functions that only ask (--trace +queries)");
    }
  }

  void print_processes() const {
    constexpr std::size_t most = 20;
    const Json& all = info_["processes"];
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const Json& process = all[i];
      std::string text;
      for (const char* name : {"command_line", "executable"}) {
        if (text.empty() && process.contains(name)) text = plain(process[name]);
      }
      const std::string cupti =
          process.contains("cupti_version") ? cuda_version(process["cupti_version"]) : "";
      if (!cupti.empty()) text += (text.empty() ? "CUPTI " : ", CUPTI ") + cupti;
      if (!cupti.empty()) text += ", driver for CUDA " + cuda_version(process["driver_version"]);
      line("process", plain(process["processId"]) + (text.empty() ? "" : "  " + text));
    }
    if (all.size() > most) line("", "and " + std::to_string(all.size() - most) + " more");
  }

  void print_records() const {
    if (info_["first_ns"].is_number()) {
      const std::int64_t first = info_["first_ns"], last = info_["last_ns"];
      line(
          "time span",
          seconds(saturating_subtract(last, first)) +
              (info_["times_estimated"] == true ? ", by the beginning and end of each table" : ""));
    }
    const Json& records = info_["records"];
    line("records", records.empty()                      ? "none"
                    : info_["records_estimated"] == true ? "by their row ids; --exact counts them"
                                                         : " ");
    for (const auto& [kind, rows] : records.items()) {
      std::string count = plain(rows);
      count.insert(0, count.size() < 13 ? 13 - count.size() : 0, ' ');
      std::cout << "    " << count << "  " << printable(kind) << '\n';
    }
  }

  const Json& info_;
};

int info(const Arguments& arguments) {
  store::ProfileFile file(arguments.file);
  if (file.size() < 0) throw *file.problem();
  Progress progress;
  Json info{{"file", arguments.file},
            {"format", format_name(file.format())},
            {"description", file.description()},
            {"version", file.version() ? Json(*file.version()) : Json()},
            {"size_bytes", file.size()},
            {"log_bytes", file.log_size()}};
  if (!file.problem()) {
    file.read(
        [&](store::Database& database) {
          read_contents(file, database, arguments.exact, progress, info);
        },
        [&](std::string_view what) { progress.show(what); });
  }
  progress.clear();
  info["state"] = state(file);
  info["notes"] = file.notes();
  if (file.problem()) info["problem"] = file.problem()->what();
  if (arguments.json) {
    std::cout << info.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    Text(info).print();
  }
  std::cout.flush();
  if (file.problem()) throw *file.problem();
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

std::function<int()> declare(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("file", arguments->file, "A profile")->required()->option_text("FILE");
  app.add_flag("--json", arguments->json, "One JSON document");
  app.add_flag("--exact", arguments->exact,
               "Read all of a file above 512 MiB, to count records and find times");
  return [arguments] { return info(*arguments); };
}

}  // namespace

extern const Subcommand info_command{
    .name = "info",
    .usage = "FILE [--json]",
    .help = "Say what is in a profile: run, devices, records, losses",
    .declare = declare,
};

}  // namespace gpuprof::app
