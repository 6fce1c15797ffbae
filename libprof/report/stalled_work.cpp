#include "libprof/report/stalled_work.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

// Of each table.
constexpr std::int64_t newest_calls = 20'000;
constexpr std::size_t most_processes_named = 8;
// A process that was killed is known to have lived until its clocks were last read, which is done
// every 10 s.
constexpr std::int64_t between_clocks = 10'000'000'000;

// In which the launches of a graph are looked for.
constexpr std::int64_t newest_kernels = 200'000;

enum class Does : std::uint8_t { nothing, launches, begins_capture, ends_capture };

Does what_it_does(std::string_view function) {
  using enum Does;
  if (function.find("StreamBeginCapture") != function.npos) return begins_capture;
  if (function.find("StreamEndCapture") != function.npos) return ends_capture;
  for (const std::string_view start :
       {"cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch"}) {
    if (function.starts_with(start) && function.find("HostFunc") == function.npos) return launches;
  }
  return nothing;
}

struct Launch {
  std::int64_t start = 0, thread = 0;
  std::string function;
};

// The newest of a process.
struct Calls {
  std::map<std::int64_t, Launch> launches;     // without finished work, by correlation id
  std::map<std::int64_t, bool> captures;       // by time: whether one began, or else ended
  std::int64_t last = 0;                       // end
  std::pair<std::int64_t, Launch> last_graph;  // of which some work has ended, and its id

  // Whether a stream was being captured. What is launched then has no work.
  bool captured(std::int64_t at) const {
    const auto next = captures.upper_bound(at);
    if (next != captures.begin()) return std::prev(next)->second;
    return next != captures.end() && !next->second;
  }
};

std::map<std::int64_t, Calls> read_calls(store::Database& database, const FinishedWork& finished) {
  std::map<std::int64_t, Calls> found;
  reading::Tables tables(database);
  reading::ApiNames names(database);
  for (const schema::ApiKind& kind : schema::api_kinds) {
    const std::string table = reading::table_name(kind.kind);
    if (!database.has_columns(table, {"_id_", "cbid", "start", "end", "correlationId", "processId",
                                      "threadId", "returnValue"})) {
      continue;
    }
    std::map<std::int64_t, std::string> functions;  // by cbid
    auto rows = database.prepare(
        "SELECT cbid, start, \"end\", correlationId, processId, threadId FROM main." + table +
        " WHERE returnValue = 0 AND start > 0 ORDER BY _id_ DESC LIMIT " +
        std::to_string(newest_calls));
    while (rows.step()) {
      Calls& its = found[rows.integer(4)];
      its.last = std::max(its.last, rows.integer(2));
      const auto [place, is_new] = functions.try_emplace(rows.integer(0));
      std::string& function = place->second;
      if (is_new) {
        function = printable(names.find(reading::domain_of(kind), rows.integer(0)));
        function.resize(std::min(function.find("_v"), function.size()));
      }
      const std::int64_t start = rows.integer(1), correlation = rows.integer(3);
      switch (what_it_does(function)) {
        case Does::nothing: break;
        case Does::begins_capture: its.captures[start] = true; break;
        case Does::ends_capture: its.captures[start] = false; break;
        case Does::launches:
          // The runtime's call, which comes first, and not the driver's that it makes.
          const Launch launch{start, rows.integer(5), function};
          if (!finished.has(correlation)) {
            its.launches.try_emplace(correlation, launch);
          } else if (function.find("GraphLaunch") != function.npos &&
                     start > its.last_graph.second.start) {
            its.last_graph = {correlation, launch};
          }
      }
    }
  }
  for (auto& [process, its] : found) {
    std::erase_if(its.launches,
                  [&](const auto& launch) { return its.captured(launch.second.start); });
  }
  return found;
}

// Until when a process is known to have waited.
std::int64_t lived_until(store::Database& database, std::int64_t process, const Calls& its,
                         const FileTime& time) {
  if (!time.over) return time.now;
  auto row = database.prepare(
      "SELECT max(cupti), max(CASE WHEN moment = 'last' THEN cupti END) FROM main.CLOCK WHERE "
      "processId = ?1");
  row.bind(1, process);
  std::int64_t seen = its.last;
  if (row.step()) {
    if (!row.is_null(1)) return std::min(time.now, row.integer(1));
    seen = std::max(seen, row.integer(0));
  }
  return std::min(time.now, saturating_add(seen, between_clocks));
}

// How many kernels of a graph's launch have ended, of those that another launch had; and the next
// of these.
struct PartOfGraph {
  std::int64_t ended = 0, all = 0;
  std::string next = {};
};

// nullopt: all have ended.
std::optional<PartOfGraph> open_part(store::Database& database, std::int64_t process,
                                     std::int64_t correlation) {
  const std::string table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";
  if (!database.has_columns(table, {"_id_", "correlationId", "processId", "graphId", "graphNodeId",
                                    "name", "start", "end"})) {
    return std::nullopt;
  }
  const auto newest = database.integer("SELECT max(_id_) FROM main." + table).value_or(0);
  const std::string newer = " FROM main." + table +
                            " WHERE processId = " + std::to_string(process) +
                            " AND \"end\" > 0 AND _id_ > " +
                            std::to_string(saturating_subtract(newest, newest_kernels)) + " AND ";
  const std::string mine = "correlationId = " + std::to_string(correlation);
  auto launch = database.prepare("SELECT graphId, count(*)" + newer + mine);
  if (!launch.step() || launch.integer(0) == 0) return std::nullopt;
  PartOfGraph part{.ended = launch.integer(1)};
  auto other = database.prepare("SELECT correlationId, count(*) AS n" + newer + "NOT " + mine +
                                " AND graphId = ?1 GROUP BY 1 ORDER BY n DESC LIMIT 1");
  other.bind(1, launch.integer(0));
  if (!other.step() || other.integer(1) <= part.ended) return std::nullopt;
  part.all = other.integer(1);
  auto next =
      database.prepare("SELECT name" + newer + "correlationId = ?1 AND graphNodeId NOT IN " +
                       "(SELECT graphNodeId" + newer + mine + ") ORDER BY start LIMIT 1");
  next.bind(1, other.integer(0));
  if (next.step()) {
    reading::Names names(database, reading::NameStyle::display);
    part.next = printable(names.kernel(next.integer(0)));
  }
  return part;
}

// Then launches without work need not wait for anything.
bool lacks_work(store::Database& database) {
  if (!database.has_columns("STATISTIC", {"name", "severity", "value"})) return true;
  return database
      .integer(
          "SELECT 1 FROM main.STATISTIC WHERE value > 0 AND severity = 'data_loss' AND name NOT IN "
          "('records_without_times', 'incomplete_records') LIMIT 1")
      .has_value();
}

std::string pending_words(const Calls& its, std::int64_t until) {
  const Launch& first = std::ranges::min_element(its.launches, {}, [](const auto& each) {
                          return each.second.start;
                        })->second;
  const std::string ago = seconds_words(saturating_subtract(until, first.start)) + " old";
  if (its.launches.size() == 1) return "a launch waits, " + first.function + ", " + ago;
  return std::to_string(its.launches.size()) + " launches wait, the first, " + first.function +
         ", is " + ago;
}

std::string words_of(const PartOfGraph& part) {
  return ", of which " + std::to_string(part.ended) + " of " + std::to_string(part.all) +
         " kernels have ended" + (part.next.empty() ? "" : ", and next is " + part.next);
}

std::vector<std::string> find_other_work(store::Database& database, const FileTime& time,
                                         const FinishedWork& finished, std::int64_t after) {
  const std::int64_t last = finished.last_end();
  if (saturating_subtract(time.now, last) < after || lacks_work(database)) return {};
  std::vector<std::string> texts;
  std::string idle;
  for (auto& [process, its] : read_calls(database, finished)) {
    if (texts.size() == most_processes_named) break;
    std::optional<PartOfGraph> part;
    if (its.launches.empty() && its.last_graph.first != 0 &&
        (part = open_part(database, process, its.last_graph.first))) {
      its.launches.insert(its.last_graph);
    }
    const bool waits = !its.launches.empty();
    const std::int64_t correlation = waits ? its.launches.begin()->first : 0;
    const std::int64_t thread = waits ? its.launches.begin()->second.thread : process;
    const std::string place = place_words(database, process, thread, correlation);
    if (!time.over && place.ends_with("has ended")) continue;
    const std::int64_t until = lived_until(database, process, its, time);
    const std::int64_t quiet = saturating_subtract(until, last);
    if (!waits) {
      idle += (idle.empty() ? "" : "; ") + place;
    } else if (quiet >= after) {
      texts.push_back("No GPU work has ended for " + seconds_words(quiet) + ", and " +
                      pending_words(its, until) + (part ? words_of(*part) : "") + ": " + place +
                      ".");
    }
  }
  if (texts.empty() && !idle.empty() && !time.over) {
    texts.push_back("No GPU work was recorded for " +
                    seconds_words(saturating_subtract(time.now, last)) +
                    ", and no launch waits: " + idle + ".");
  }
  return texts;
}

}  // namespace

std::vector<std::string> StalledWork::read(store::Database& database, std::int64_t after) {
  const auto time = after > 0 ? time_of_file(database) : std::nullopt;
  if (!time) return {};
  finished_.read(database);
  if (finished_.last_end() == 0) return {};
  std::vector<std::string> texts = operations_.read(database, *time, finished_, after);
  return texts.empty() ? find_other_work(database, *time, finished_, after) : texts;
}

}  // namespace gpuprof::report
