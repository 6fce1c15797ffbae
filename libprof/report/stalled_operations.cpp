#include "libprof/report/stalled_operations.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "libprof/base/clock.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/code_lines.hpp"

namespace gpuprof::report {
namespace {

constexpr std::int64_t stalled_after = 30'000'000'000;  // ns
// How far back the kernel of an operation is looked for: an index comes only when the run is over.
constexpr std::int64_t newest_kernels = 200'000;
constexpr std::size_t most_ranks_named = 16;

bool has_columns(store::Database& database, std::string_view table,
                 std::initializer_list<const char*> columns) {
  return std::ranges::all_of(
      columns, [&](const char* column) { return database.has_column(table, column); });
}

// On CUPTI's clock: now, or when the run was over.
std::optional<std::int64_t> time_of_file(store::Database& database) {
  const auto offset = database.integer(
      "SELECT cupti - realtime FROM main.CLOCK WHERE cupti > 0 ORDER BY realtime DESC LIMIT 1");
  if (!offset) return std::nullopt;
  const bool over =
      database.integer("SELECT value FROM main.RUN WHERE key = 'finished'").value_or(0) == 1;
  const auto end = database.integer("SELECT value FROM main.RUN WHERE key = 't1_realtime_ns'");
  return saturating_add(over && end ? *end : clock_ns(CLOCK_REALTIME), *offset);
}

// Also where kernels are not recorded.
bool has_ended(store::Database& database, std::int64_t correlation) {
  const auto newest =
      database.integer("SELECT max(_id_) FROM main.CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
  if (!newest) return true;
  auto row = database.prepare(
      "SELECT 1 FROM main.CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE correlationId = ?1 "
      "AND _id_ > ?2 LIMIT 1");
  row.bind(1, correlation).bind(2, *newest - newest_kernels);
  return row.step();
}

// Where a thread was last seen from outside, or else made its last call from; 0: not known.
std::int64_t last_stack(store::Database& database, std::int64_t process, std::int64_t thread) {
  if (has_columns(database, "HOST_SAMPLE", {"processId", "ofProcess", "threadId", "stack"})) {
    auto row = database.prepare(
        "SELECT stack FROM main.HOST_SAMPLE WHERE processId = ?1 AND ofProcess = ?1 "
        "AND threadId = ?2 AND stack != 0 ORDER BY _id_ DESC LIMIT 1");
    row.bind(1, process).bind(2, thread);
    if (row.step()) return row.integer(0);
  }
  auto row = database.prepare(
      "SELECT stack FROM main.CALL_STACK WHERE processId = ?1 ORDER BY _id_ DESC LIMIT 1");
  row.bind(1, process);
  return row.step() ? row.integer(0) : 0;
}

std::string line_of_thread(store::Database& database, std::int64_t process, std::int64_t thread) {
  if (!has_columns(database, "CALL_STACK", {"processId", "stack", "_id_"})) return {};
  const std::int64_t stack = last_stack(database, process, thread);
  if (stack == 0) return {};
  auto row = database.prepare(
      "SELECT f.module, f.function, f.line FROM main.STACK_ENTRY AS e JOIN main.STACK_FRAME AS f "
      "ON f.frame = e.frame AND f.processId = e.processId WHERE e.processId = ?1 AND e.stack = ?2 "
      "AND f.offset IS NULL ORDER BY e.position");
  row.bind(1, process).bind(2, stack);
  std::optional<compute::CodeLine> found;
  while (row.step()) {
    compute::CodeLine line{std::string(row.text(0)), std::string(row.text(1)), row.integer(2)};
    const bool own = !compute::is_library(line.file);
    if (own || !found) found = std::move(line);
    if (own) break;
  }
  return found ? compute::line_words(*found) : std::string();
}

bool process_has_ended(store::Database& database, std::int64_t process) {
  auto row = database.prepare(
      "SELECT 1 FROM main.PROCESS WHERE processId = ?1 AND (exit_status IS NOT NULL OR exit_signal "
      "IS NOT NULL OR goodbye = 1)");
  row.bind(1, process);
  return row.step();
}

}  // namespace

void StalledOperations::read_operations(store::Database& database) {
  auto row = database.prepare(
      "SELECT o._id_, o.processId, o.threadId, o.communicator, o.rank, o.ranks, o.sequence, "
      "o.count, "
      "o.time, o.correlationId, s.value, o.graphNode FROM main.NCCL_OPERATION AS o "
      "LEFT JOIN main.StringTable AS s ON s._id_ = o.function WHERE o._id_ > ?1 ORDER BY o._id_");
  row.bind(1, read_up_to_);
  while (row.step()) {
    read_up_to_ = row.integer(0);
    Operation operation{.process = row.integer(1),
                        .thread = row.integer(2),
                        .communicator = row.integer(3),
                        .rank = row.type(4) == store::Statement::Type::null ? -1 : row.integer(4),
                        .ranks = row.integer(5),
                        .sequence = row.integer(6),
                        .count = row.integer(7),
                        .time = row.integer(8),
                        .correlation = row.integer(11) != 0 ? 0 : row.integer(9),
                        .function = printable(row.text(10))};
    last_[{operation.communicator, operation.process}] = std::move(operation);
  }
}

std::string StalledOperations::describe(store::Database& database,
                                        const std::vector<const Operation*>& stalled,
                                        std::int64_t now) const {
  // The first that some rank waits in.
  const Operation& first =
      **std::ranges::min_element(stalled, {}, [](const Operation* each) { return each->time; });
  const auto name = [](const Operation& operation) {
    return operation.function + " " + std::to_string(operation.sequence);
  };
  const auto place = [&](const Operation& operation) {
    const std::string line = line_of_thread(database, operation.process, operation.thread);
    return "process " + std::to_string(operation.process) + (line.empty() ? "" : ", " + line) +
           (process_has_ended(database, operation.process) ? ", has ended" : "");
  };
  std::string entered, others;
  std::size_t known = 0;
  const auto begin = last_.lower_bound({first.communicator, INT64_MIN});
  for (auto each = begin; each != last_.end() && each->first.first == first.communicator; ++each) {
    const Operation& its = each->second;
    if (++known > most_ranks_named) continue;
    const std::string who = std::to_string(its.rank) + " (" + place(its) + ")";
    const bool same = its.function == first.function && its.sequence == first.sequence;
    if (same && its.count == first.count) {
      entered += (entered.empty() ? "rank " : ", rank ") + who;
    } else if (same) {
      others += " Rank " + who + " entered it with " + std::to_string(its.count) +
                " elements, not " + std::to_string(first.count) + ".";
    } else {
      others += " Rank " + who + " has not: its last is " + name(its) + ".";
    }
  }
  std::string text = name(first) + " of " + std::to_string(first.ranks) +
                     " ranks has not ended for " +
                     std::to_string(saturating_subtract(now, first.time) / 1'000'000'000) +
                     " s. Entered by " + entered + "." + others;
  const std::int64_t missing = first.ranks - static_cast<std::int64_t>(known);
  if (missing == 1) text += " One rank is not in this file.";
  if (missing > 1) text += " " + std::to_string(missing) + " ranks are not in this file.";
  return text;
}

std::vector<std::string> StalledOperations::read(store::Database& database) {
  if (!has_columns(database, "NCCL_OPERATION",
                   {"_id_", "processId", "threadId", "communicator", "rank", "ranks", "sequence",
                    "count", "time", "correlationId", "function", "graphNode"}) ||
      !has_columns(database, "CLOCK", {"cupti", "realtime"})) {
    return {};
  }
  read_operations(database);
  const auto now = time_of_file(database);
  if (!now) return {};
  std::map<std::int64_t, std::vector<const Operation*>> stalled;  // by communicator
  for (const auto& [key, operation] : last_) {
    if (operation.correlation == 0 || operation.time <= 0 ||
        saturating_subtract(*now, operation.time) < stalled_after ||
        has_ended(database, operation.correlation)) {
      continue;
    }
    stalled[operation.communicator].push_back(&operation);
  }
  std::vector<std::string> texts;
  for (const auto& [communicator, operations] : stalled) {
    texts.push_back(describe(database, operations, *now));
  }
  return texts;
}

}  // namespace gpuprof::report
