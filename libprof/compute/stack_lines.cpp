#include "libprof/compute/stack_lines.hpp"

#include <string>

#include "libprof/compute/fill.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/database.hpp"
#include "schema/stack_lines.hpp"
#include "schema/view_text.hpp"

namespace gpuprof::compute {
namespace {

bool calls_have_stacks(store::Database& database) {
  return database.has_column("CALL_STACK", "stack") &&
         database.integer("SELECT EXISTS (SELECT 1 FROM main.CALL_STACK)").value_or(0) != 0;
}

}  // namespace

void StackLines::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  if (!calls_have_stacks(snapshot.database())) return;
  const CodeLines lines(snapshot, LineOf::users_code, check);
  for (const auto& [key, line] : lines.by_stack()) lines_.emplace_back(key, lines.lines()[line]);
  nodes_ = NodeStacks(snapshot, check).entries();
}

void StackLines::fill(store::Database& database, std::string_view in) const {
  store::Statement insert = compute::fill(database, schema::tables::stack_line, in);
  for (const auto& [key, line] : lines_) {
    const std::string place =
        line.line > 0 ? line.file + ":" + std::to_string(line.line) : line.file;
    insert.bind(1, key.first).bind(2, key.second).bind(3, place).run();
  }
  insert = compute::fill(database, schema::tables::node_stack, in);
  for (const NodeStacks::Entry& node : nodes_) {
    insert.bind(1, node.process).bind(2, node.node).bind(3, node.since).bind(4, node.stack).run();
  }
}

void StackLines::write(store::Database& database) const {
  if (!calls_have_stacks(database)) return;
  store::add_stack_tables(database);
  fill(database, "main");
}

void StackLines::write_temporarily(store::Database& database) const {
  for (const schema::Table* table : schema::tables::stack_tables) {
    const std::string sql = schema::create_table_sql(*table);
    database.execute("CREATE TEMP" + sql.substr(sql.find(' ')));
  }
  fill(database, "temp");
  constexpr std::string_view create = "CREATE VIEW";
  database.execute("CREATE TEMP VIEW IF NOT EXISTS" +
                   store::graph_nodes_sql().substr(create.size()));
}

}  // namespace gpuprof::compute
