#include "libprof/report/stalled_places.hpp"

#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/code_lines.hpp"

namespace gpuprof::report {
namespace {

// How far back the stack of a call is looked for: an index comes only when the run is over.
constexpr std::int64_t newest_stacks = 200'000;

// 0: not known.
std::int64_t seen_from_outside(store::Database& database, std::int64_t process,
                               std::int64_t thread) {
  if (!database.has_columns("HOST_SAMPLE", {"processId", "ofProcess", "threadId", "stack"}))
    return 0;
  // The main thread if it is one that runs no Python.
  auto row = database.prepare(
      "SELECT stack FROM main.HOST_SAMPLE WHERE processId = ?1 AND ofProcess = ?1 AND threadId = "
      "?2 AND stack != 0 ORDER BY _id_ DESC LIMIT 1");
  for (const std::int64_t each : {thread, process}) {
    row.bind(1, process).bind(2, each);
    if (row.step()) return row.integer(0);
    row.reset();
  }
  return 0;
}

std::int64_t stack_of_call(store::Database& database, std::int64_t process,
                           std::int64_t correlation) {
  const auto newest = database.integer("SELECT max(_id_) FROM main.CALL_STACK");
  if (!newest) return 0;
  auto call = database.prepare(
      "SELECT stack FROM main.CALL_STACK WHERE correlationId = ?1 AND _id_ > ?2 LIMIT 1");
  call.bind(1, correlation).bind(2, *newest - newest_stacks);
  if (correlation != 0 && call.step()) return call.integer(0);
  auto last = database.prepare(
      "SELECT stack FROM main.CALL_STACK WHERE processId = ?1 AND _id_ > ?2 ORDER BY _id_ DESC "
      "LIMIT 1");
  last.bind(1, process).bind(2, *newest - newest_stacks);
  return last.step() ? last.integer(0) : 0;
}

std::string line_of(store::Database& database, std::int64_t process, std::int64_t stack) {
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
  return found ? printable(compute::line_words(*found)) : std::string();
}

bool has_ended(store::Database& database, std::int64_t process) {
  auto row = database.prepare(
      "SELECT 1 FROM main.PROCESS WHERE processId = ?1 AND (exit_status IS NOT NULL OR exit_signal "
      "IS NOT NULL OR goodbye = 1)");
  row.bind(1, process);
  return row.step();
}

}  // namespace

std::optional<FileTime> time_of_file(store::Database& database) {
  if (!database.has_columns("CLOCK", {"cupti", "realtime"}) ||
      !database.has_columns("RUN", {"key", "value"})) {
    return std::nullopt;
  }
  const auto offset = database.integer(
      "SELECT cupti - realtime FROM main.CLOCK WHERE cupti > 0 ORDER BY realtime DESC LIMIT 1");
  if (!offset) return std::nullopt;
  const bool over =
      database.integer("SELECT value FROM main.RUN WHERE key = 'finished'").value_or(0) == 1;
  const auto end = database.integer("SELECT value FROM main.RUN WHERE key = 't1_realtime_ns'");
  return FileTime{saturating_add(over && end ? *end : clock_ns(CLOCK_REALTIME), *offset), over};
}

std::string place_words(store::Database& database, std::int64_t process, std::int64_t thread,
                        std::int64_t correlation) {
  std::string words = "process " + std::to_string(process);
  if (database.has_columns("CALL_STACK", {"processId", "stack", "_id_", "correlationId"})) {
    std::int64_t stack = seen_from_outside(database, process, thread);
    if (stack == 0) stack = stack_of_call(database, process, correlation);
    const std::string line = stack == 0 ? "" : line_of(database, process, stack);
    if (!line.empty()) words += ", " + line;
  }
  return words + (has_ended(database, process) ? ", has ended" : "");
}

std::string seconds_words(std::int64_t ns) { return std::to_string(ns / 1'000'000'000) + " s"; }

}  // namespace gpuprof::report
