// How processes ended, when they worked, and which of their calls failed.
#include <algorithm>
#include <set>
#include <tuple>

#include "libprof/compute/memory/operations.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::memory {
namespace {

using Process = Surroundings::Process;

// cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY
constexpr std::int64_t out_of_memory = 2;

std::string run_value(store::Database& database, const std::string& key) {
  auto row = database.prepare("SELECT value FROM main.RUN WHERE key = ?1");
  return row.bind(1, key).step() ? std::string(row.text(0)) : std::string();
}

// Why no process can be judged; empty: they can.
std::string no_verdict(store::Database& database, reading::Tables& tables) {
  if (!tables.has("PROCESS", "goodbye") || !tables.has("RUN", "value")) {
    return "the file does not say how the process ended";
  }
  if (run_value(database, "finished") != "1") return "the run was not finished";
  if (!run_value(database, "derived_from").empty()) {
    return "the file is a part of another, and lacks what was released elsewhere";
  }
  const std::string groups = "," + run_value(database, "trace_groups") + ",";
  if (groups.find(",api,") == groups.npos) {
    return "calls were not recorded (--trace +api), so nothing says whether collection was "
           "switched off in between";
  }
  return {};
}

void read_processes(store::Database& database, reading::Tables& tables,
                    std::map<std::int64_t, Process>& processes) {
  auto row = database.prepare(
      "SELECT processId, executable, exit_signal, goodbye FROM main.PROCESS LIMIT 1000000");
  while (row.step()) {
    const auto [found, is_new] = processes.try_emplace(row.integer(0));
    Process& process = found->second;
    process.program = row.text(1);
    if (!is_new) {
      process.no_verdict = "two processes of the run had this number";
    } else if (!row.is_null(2)) {
      process.no_verdict = "the process was ended by signal " + std::to_string(row.integer(2));
    } else if (row.integer(3) != 1) {
      process.no_verdict = "the process did not end in order: it was killed, or ended by _exit";
    }
  }
  if (tables.has("CLOCK", "cupti")) {
    auto clock = database.prepare(
        "SELECT processId, cupti FROM main.CLOCK WHERE moment = 'last' LIMIT 1000000");
    while (clock.step()) {
      const auto found = processes.find(clock.integer(0));
      if (found != processes.end()) found->second.end = clock.integer(1);
    }
  }
  if (!tables.has("STATISTIC", "severity")) return;
  auto loss = database.prepare(
      "SELECT DISTINCT processId FROM main.STATISTIC WHERE value > 0 "
      "AND severity IN ('data_loss', 'error') AND kind IN ('', 'CUPTI_ACTIVITY_KIND_MEMORY2') "
      "AND substr(name, 1, 3) NOT IN ('pm_', 'pc_') AND name NOT LIKE 'sass%' "
      "AND name NOT LIKE 'metrics%' AND name <> 'graphs_not_traced' LIMIT 1000000");
  std::set<std::int64_t> lossy;
  while (loss.step()) lossy.insert(loss.integer(0));
  for (auto& [number, process] : processes) {
    const bool lost = lossy.contains(0) || lossy.contains(number);
    if (lost && process.no_verdict.empty()) {
      process.no_verdict = "records were lost (view losses), releases may be among them";
    }
  }
}

// Functions by number.
struct Functions {
  std::set<std::int64_t> ends_context, stops;

  Functions(store::Database& database, reading::Tables& tables, bool runtime) {
    if (!tables.has("API_NAME", "cbid")) return;
    auto row = database.prepare(
        "SELECT cbid, name LIKE '%ProfilerStop%' FROM main.API_NAME WHERE domain = ?1 AND ("
        "name LIKE '%ProfilerStop%' OR name LIKE 'cudaDeviceReset%' OR "
        "name LIKE 'cuCtxDestroy%' OR name LIKE 'cuDevicePrimaryCtxReset%' OR "
        "name LIKE 'cuDevicePrimaryCtxRelease%') LIMIT 1000");
    row.bind(1, std::string_view(runtime ? "runtime" : "driver"));
    while (row.step()) (row.integer(1) != 0 ? stops : ends_context).insert(row.integer(0));
  }
};

class CallReading {
 public:
  CallReading(store::Snapshot& snapshot, reading::Tables& tables, Surroundings& result)
      : snapshot_(snapshot), tables_(tables), result_(result) {}

  void read(const std::function<void()>& check) {
    read(true, check);
    read(false, check);
    for (auto& [key, failure] : failures_) result_.failures.push_back(failure);
  }

 private:
  void read(bool runtime, const std::function<void()>& check) {
    const Functions functions(snapshot_.database(), tables_, runtime);
    columns::Reader reader(
        snapshot_, {.table = runtime ? "CUPTI_ACTIVITY_KIND_RUNTIME" : "CUPTI_ACTIVITY_KIND_DRIVER",
                    .columns = {"cbid", "start", "processId", "returnValue", "correlationId"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto cbid = chunk[0].int64s(), start = chunk[1].int64s(), process = chunk[2].int64s(),
                 value = chunk[3].int64s(), correlation = chunk[4].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (value[row] == out_of_memory) {
          // A runtime call makes driver calls with its correlation id, which fail along with it.
          if (runtime) {
            if (failed_.size() < most_failed) failed_.insert(correlation[row]);
          } else if (failed_.contains(correlation[row])) {
            continue;
          }
          add_failure({runtime, cbid[row], process[row], 1, start[row]});
        }
        if (value[row] != 0) continue;
        if (functions.ends_context.contains(cbid[row])) {
          std::int64_t& end = result_.processes[process[row]].context_end;
          end = std::max(end, start[row]);
        }
        if (functions.stops.contains(cbid[row])) {
          std::string& why = result_.processes[process[row]].no_verdict;
          if (why.empty()) {
            why = "the program called cudaProfilerStop; what it released then is not recorded";
          }
        }
      }
    });
  }

  void add_failure(const Surroundings::Failure& call) {
    auto& failure = failures_[{call.process, call.runtime, call.cbid}];
    const std::int64_t count = failure.count + 1;
    const std::int64_t first = count == 1 ? call.first : std::min(failure.first, call.first);
    failure = call;
    failure.count = count;
    failure.first = first;
  }

  static constexpr std::size_t most_failed = 1 << 20;

  store::Snapshot& snapshot_;
  reading::Tables& tables_;
  Surroundings& result_;
  std::set<std::int64_t> failed_;
  std::map<std::tuple<std::int64_t, bool, std::int64_t>, Surroundings::Failure> failures_;
};

void read_first_work(store::Snapshot& snapshot, std::map<std::int64_t, Process>& processes,
                     const std::function<void()>& check) {
  for (const char* table :
       {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"}) {
    columns::Reader reader(snapshot, {.table = table, .columns = {"start", "processId"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto start = chunk[0].int64s(), process = chunk[1].int64s();
      Process* its = nullptr;
      std::int64_t number = 0;
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (start[row] <= 0) continue;
        if (!its || number != process[row]) {
          number = process[row];
          its = &processes[number];
        }
        if (its->first_work == 0 || start[row] < its->first_work) its->first_work = start[row];
      }
    });
  }
}

void read_steps(store::Database& database, reading::Tables& tables, Surroundings& result) {
  if (!tables.has("STEP", "stop")) return;
  auto row = database.prepare(
      "SELECT processId, start, stop FROM main.STEP WHERE stop > start ORDER BY processId, start "
      "LIMIT 2000000");
  while (row.step()) result.steps.push_back({row.integer(0), row.integer(1), row.integer(2)});
}

}  // namespace

Surroundings read_surroundings(store::Snapshot& snapshot, const std::function<void()>& check) {
  store::Database& database = snapshot.database();
  reading::Tables tables(database);
  Surroundings result;
  const std::string nothing = no_verdict(database, tables);
  if (tables.has("PROCESS", "goodbye")) read_processes(database, tables, result.processes);
  CallReading(snapshot, tables, result).read(check);
  read_first_work(snapshot, result.processes, check);
  read_steps(database, tables, result);
  if (!nothing.empty()) {
    for (auto& [number, process] : result.processes) {
      // How the process itself ended is more informative.
      if (process.no_verdict.empty()) process.no_verdict = nothing;
    }
  }
  return result;
}

}  // namespace gpuprof::memory
