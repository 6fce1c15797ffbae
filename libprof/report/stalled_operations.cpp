#include "libprof/report/stalled_operations.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t newest_operations = 4096;
constexpr std::size_t most_ranks_named = 16, most_communicators_named = 8;

// As gpuprof cluster names communicators.
std::string hexadecimal_id(std::int64_t id) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, static_cast<std::uint64_t>(id));
  return text.data();
}

}  // namespace

void StalledOperations::read_operations(store::Database& database) {
  const std::string name =
      database.has_column("NCCL_OPERATION", "communicatorName")
          ? "(SELECT value FROM main.StringTable WHERE _id_ = communicatorName)"
          : "NULL";
  auto row = database.prepare(
      "SELECT o._id_, o.processId, o.threadId, o.communicator, o.rank, o.ranks, o.sequence, "
      "o.count, o.time, o.correlationId, s.value, o.graphNode, " +
      name +
      " FROM main.NCCL_OPERATION AS o "
      "LEFT JOIN main.StringTable AS s ON s._id_ = o.function WHERE o._id_ > ?1 ORDER BY o._id_");
  row.bind(1, read_up_to_);
  while (row.step()) {
    read_up_to_ = row.integer(0);
    Operation operation{.process = row.integer(1),
                        .thread = row.integer(2),
                        .communicator = row.integer(3),
                        .rank = row.is_null(4) ? -1 : row.integer(4),
                        .ranks = row.integer(5),
                        .sequence = row.integer(6),
                        .count = row.integer(7),
                        .time = row.integer(8),
                        .correlation = row.integer(11) != 0 ? 0 : row.integer(9),
                        .function = printable(row.text(10)),
                        .communicator_name = printable(row.text(12))};
    Operations& its = operations_[{operation.communicator, operation.process}];
    its.push_back(std::move(operation));
    if (its.size() > newest_operations) its.pop_front();
  }
}

// Of one process: adds it to those that have entered, or returns a sentence on what it does
// instead.
std::string StalledOperations::describe_rank(store::Database& database,
                                             const Operations& operations, const Operation& first,
                                             std::string& entered) const {
  const auto same = std::ranges::find_if(operations, [&](const Operation& each) {
    return each.function == first.function && each.sequence == first.sequence;
  });
  const Operation& its = same == operations.end() ? operations.back() : *same;
  const std::string who = std::to_string(its.rank) + " (" +
                          place_words(database, its.process, its.thread,
                                      same == operations.end() ? 0 : its.correlation) +
                          ")";
  if (same == operations.end()) {
    return " Rank " + who + " has not: its last is " + its.function + " " +
           std::to_string(its.sequence) + ".";
  }
  if (its.count != first.count) {
    return " Rank " + who + " entered it with " + std::to_string(its.count) + " elements, not " +
           std::to_string(first.count) + ".";
  }
  entered += (entered.empty() ? "rank " : ", rank ") + who;
  return {};
}

std::string StalledOperations::describe(store::Database& database, const Operation& first,
                                        std::int64_t now) const {
  std::string entered, others;
  std::size_t known = 0;
  const auto begin = operations_.lower_bound({first.communicator, INT64_MIN});
  for (auto each = begin; each != operations_.end() && each->first.first == first.communicator;
       ++each) {
    if (++known > most_ranks_named) continue;
    others += describe_rank(database, each->second, first, entered);
  }
  const std::string& name = first.communicator_name;
  std::string text = first.function + " " + std::to_string(first.sequence) + " of communicator " +
                     hexadecimal_id(first.communicator) + (name.empty() ? "" : " (" + name + ")") +
                     ", " + std::to_string(first.ranks) + " ranks, has not ended for " +
                     seconds_words(saturating_subtract(now, first.time)) + ". Entered by " +
                     entered + "." + others;
  const std::int64_t missing = first.ranks - static_cast<std::int64_t>(known);
  if (missing == 1) text += " One rank is not in this file.";
  if (missing > 1) text += " " + std::to_string(missing) + " ranks are not in this file.";
  return text;
}

// Of a process's operations, from one on: the first collective, at `latest` or earlier, that
// another process has not entered, or has entered with a different count. Null if there is none.
// CUPTI hands kernels out by the buffer, so those right before the one that hangs may have ended
// without a record of it.
const StalledOperations::Operation* StalledOperations::first_apart(std::int64_t communicator,
                                                                   std::int64_t process,
                                                                   const Operation& from,
                                                                   std::int64_t latest) const {
  const Operations& operations = operations_.at({communicator, process});
  for (auto each = operations.begin(); each != operations.end(); ++each) {
    if (each->time < from.time || each->function == "Send" || each->function == "Recv") continue;
    if (each->time > latest) break;
    for (auto other = operations_.lower_bound({communicator, INT64_MIN});
         other != operations_.end() && other->first.first == communicator; ++other) {
      const auto same = std::ranges::find_if(other->second, [&](const Operation& its) {
        return its.function == each->function && its.sequence == each->sequence;
      });
      if (same == other->second.end() || same->count != each->count) return &*each;
    }
  }
  return nullptr;
}

std::vector<std::string> StalledOperations::read(store::Database& database, const FileTime& time,
                                                 FinishedWork& finished, std::int64_t after) {
  if (!database.has_columns("NCCL_OPERATION", {"_id_", "processId", "threadId", "communicator",
                                               "rank", "ranks", "sequence", "count", "time",
                                               "correlationId", "function", "graphNode"})) {
    return {};
  }
  read_operations(database);
  // By communicator: the first that some rank waits in. Those of a process end in order.
  std::map<std::int64_t, const Operation*> stalled, apart;
  const auto take = [](const Operation*& known, const Operation* first) {
    if (first && (!known || first->time < known->time)) known = first;
  };
  for (const auto& [key, operations] : operations_) {
    const Operation* first = nullptr;
    for (auto each = operations.rbegin(); each != operations.rend(); ++each) {
      if (each->correlation == 0 || each->time <= 0) continue;
      if (finished.has(each->correlation)) break;
      first = &*each;
    }
    if (!first || saturating_subtract(time.now, first->time) < after) continue;
    take(stalled[key.first], first);
    take(apart[key.first],
         first_apart(key.first, key.second, *first, saturating_subtract(time.now, after)));
  }
  std::vector<const Operation*> in_order;
  for (const auto& [communicator, first] : stalled) {
    in_order.push_back(apart[communicator] ? apart[communicator] : first);
  }
  std::ranges::sort(in_order, {}, [](const Operation* each) { return each->time; });
  std::vector<std::string> texts;
  for (const Operation* first : in_order) {
    if (texts.size() == most_communicators_named) {
      texts.push_back("Operations of " + std::to_string(in_order.size() - texts.size()) +
                      " more communicators have not ended either.");
      break;
    }
    texts.push_back(describe(database, *first, time.now));
  }
  return texts;
}

}  // namespace gpuprof::report
