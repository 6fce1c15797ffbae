#include "libprof/store/source_lines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libprof/names/cubin_lines.hpp"

namespace gpuprof::store {
namespace {

// Tables whose rows belong to an instruction.
struct InstructionTable {
  std::string name;
  std::string id;
};
const std::array<InstructionTable, 2> instruction_tables{{
    {"main.CUPTI_ACTIVITY_KIND_PC_SAMPLING", "_id_"},
    {"main.SASS_INSTRUCTION", "id"},
}};

struct Instruction {
  std::size_t table;  // of instruction_tables
  std::int64_t id;
  std::int64_t process_id;
  std::string function;
  std::uint64_t offset;
};

// The instructions of one cubin.
std::vector<Instruction> rows_of(Database& database, std::int64_t sum) {
  std::vector<Instruction> rows;
  for (std::size_t i = 0; i < instruction_tables.size(); ++i) {
    const auto& [table, id] = instruction_tables[i];
    Statement found = database.prepare(
        "SELECT p." + id + ", p.processId, s.value, p.pcOffset FROM " + table +
        " p JOIN main.CUPTI_ACTIVITY_KIND_FUNCTION f ON f.id = p.functionId "
        "AND f.processId = p.processId "
        "JOIN main.CUPTI_ACTIVITY_KIND_MODULE m ON m.id = f.moduleId AND m.contextId = f.contextId "
        "AND m.processId = f.processId JOIN main.StringTable s ON s._id_ = f.name "
        "WHERE m.cubinCrc = ?1");
    found.bind(1, sum);
    while (found.step()) {
      rows.push_back({i, found.integer(0), found.integer(1), std::string(found.text(2)),
                      static_cast<std::uint64_t>(found.integer(3))});
    }
  }
  return rows;
}

bool is_empty(Database& database, const InstructionTable& table) {
  return !database.integer("SELECT 1 FROM " + table.name + " LIMIT 1");
}

}  // namespace

void compute_source_lines(Database& database,
                          const std::function<std::int64_t(std::string_view)>& string_id) {
  if (std::ranges::all_of(instruction_tables, [&](const InstructionTable& table) {
        return is_empty(database, table);
      })) {
    return;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> cubins;  // checksum, row
  {
    Statement found = database.prepare(
        "SELECT cubinCrc, min(_id_) FROM main.CUPTI_ACTIVITY_KIND_MODULE "
        "WHERE cubinSize > 0 AND cubinCrc IS NOT NULL GROUP BY cubinCrc");
    while (found.step()) cubins.emplace_back(found.integer(0), found.integer(1));
  }
  // Key of a SOURCE_LOCATOR row: process, (file, line).
  using Place = std::pair<std::int64_t, std::pair<std::string, std::uint32_t>>;
  std::map<Place, std::int64_t> locators;
  Statement cubin =
      database.prepare("SELECT cubin FROM main.CUPTI_ACTIVITY_KIND_MODULE WHERE _id_ = ?1");
  Statement insert = database.prepare(
      "INSERT INTO main.CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR(id, lineNumber, fileName, processId) "
      "VALUES(?1, ?2, ?3, ?4)");
  std::vector<Statement> updates;
  for (const auto& [table, id] : instruction_tables) {
    updates.push_back(
        database.prepare("UPDATE " + table + " SET sourceLocatorId = ?2 WHERE " + id + " = ?1"));
  }
  for (const auto& [sum, row] : cubins) {
    const std::vector<Instruction> rows = rows_of(database, sum);
    if (rows.empty()) continue;
    std::set<std::string, std::less<>> functions;
    for (const Instruction& instruction : rows) functions.insert(instruction.function);
    cubin.bind(1, row);
    std::optional<CubinLines> lines;
    if (cubin.step()) {
      lines.emplace(cubin.blob(0), [&](std::string_view name) { return functions.contains(name); });
    }
    cubin.reset();
    if (!lines) continue;
    for (const Instruction& instruction : rows) {
      const auto line = lines->find(instruction.function, instruction.offset);
      if (!line) continue;
      const auto [locator, fresh] =
          locators.try_emplace({instruction.process_id, {std::string(line->file), line->number}},
                               static_cast<std::int64_t>(locators.size() + 1));
      if (fresh) {
        insert.bind(1, locator->second)
            .bind(2, std::int64_t{line->number})
            .bind(3, string_id(line->file))
            .bind(4, instruction.process_id)
            .run();
      }
      updates[instruction.table].bind(1, instruction.id).bind(2, locator->second).run();
    }
  }
}

void keep_cubins_once(Database& database) {
  database.execute(
      "UPDATE main.CUPTI_ACTIVITY_KIND_MODULE SET cubin = x'', cubinSize = 0 "
      "WHERE cubinSize > 0 AND cubinCrc IS NOT NULL AND _id_ NOT IN (SELECT min(_id_) "
      "FROM main.CUPTI_ACTIVITY_KIND_MODULE WHERE cubinSize > 0 GROUP BY cubinCrc)");
}

}  // namespace gpuprof::store
