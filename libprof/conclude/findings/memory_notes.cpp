#include "libprof/conclude/findings/memory_notes.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

#include "libprof/base/saturating.hpp"
#include "libprof/read/one_number.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::findings {
namespace {

constexpr std::size_t fewest_steps = 5;

// Bytes in use when each step began.
using InUse = std::vector<std::int64_t>;

std::map<std::int64_t, InUse> read_in_use(store::Database& database,
                                          const std::vector<std::int64_t>& starts) {
  struct Process {
    std::int64_t now = 0;
    InUse at_starts = {};
  };
  std::map<std::int64_t, Process> processes;
  const auto reach = [&](Process& process, std::int64_t time) {
    while (process.at_starts.size() < starts.size() && starts[process.at_starts.size()] < time) {
      process.at_starts.push_back(process.now);
    }
  };
  // CUpti_ActivityMemoryOperationType: 1 allocates, 2 releases; CUpti_ActivityMemoryKind 3: device.
  auto rows = database.prepare(
      "SELECT processId, timestamp, CASE memoryOperationType WHEN 1 THEN bytes ELSE -bytes END "
      "FROM CUPTI_ACTIVITY_KIND_MEMORY2 "
      "WHERE memoryKind = 3 AND poolType = 0 AND memoryOperationType IN (1, 2) AND timestamp > 0 "
      "ORDER BY timestamp");
  while (rows.step()) {
    Process& process = processes[rows.integer(0)];
    reach(process, rows.integer(1));
    process.now = saturating_add(process.now, rows.integer(2));
  }
  std::map<std::int64_t, InUse> in_use;
  for (auto& [id, process] : processes) {
    reach(process, INT64_MAX);
    in_use[id] = std::move(process.at_starts);
  }
  return in_use;
}

}  // namespace

std::vector<std::string> memory_notes(store::Database& database,
                                      const reading::JudgedWindow& judged) {
  std::vector<std::string> notes;
  if (judged.starts.size() < fewest_steps) return notes;
  try {
    for (const auto& [process, bytes] : read_in_use(database, judged.starts)) {
      std::size_t grew = 0;
      for (std::size_t i = 1; i < bytes.size(); ++i) grew += bytes[i] > bytes[i - 1];
      const std::size_t changes = bytes.size() - 1;
      const std::int64_t more = saturating_subtract(bytes.back(), bytes.front());
      if (more <= 0 || 2 * grew < changes) continue;
      notes.push_back(
          "Device memory of process " + std::to_string(process) + " grew in " +
          std::to_string(grew) + " of " + std::to_string(changes) + " steps, by " +
          report::binary_size(static_cast<double>(more) / static_cast<double>(changes)) +
          " a step: gpuprof memory FILE says what it is.");
    }
  } catch (const store::DatabaseError& error) {
    if (!reading::is_of_content(error)) throw;
  }
  return notes;
}

}  // namespace gpuprof::findings
