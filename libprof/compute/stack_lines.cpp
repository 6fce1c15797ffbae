#include "libprof/compute/stack_lines.hpp"

#include <string>

#include "libprof/compute/fill.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/database.hpp"
#include "schema/graph_nodes.hpp"
#include "schema/stack_lines.hpp"
#include "schema/view_text.hpp"

namespace gpuprof::compute {
namespace {

bool calls_have_stacks(store::Database& database) {
  return database.has_column("CALL_STACK", "stack") &&
         database.integer("SELECT EXISTS (SELECT 1 FROM main.CALL_STACK)").value_or(0) != 0;
}

constexpr std::size_t longest_operations = 200;  // bytes; of those that share a node

}  // namespace

void StackLines::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  store::Database& database = snapshot.database();
  if (calls_have_stacks(database)) {
    const CodeLines lines(snapshot, LineOf::users_code, check);
    for (const auto& [key, line] : lines.by_stack()) lines_.emplace_back(key, lines.lines()[line]);
  }
  nodes_ = NodeStacks(snapshot, check).entries();
  read_operations(database);
}

void StackLines::read_operations(store::Database& database) {
  if (!database.has_columns("NCCL_OPERATION", {"processId", "graphNode", "function", "bytes"}))
    return;
  if (!database.has_columns("NCCL_NODE", {"processId", "node", "source"})) return;
  std::map<NodeStacks::Key, std::string> by_source;
  auto operation = database.prepare(
      "SELECT o.processId, o.graphNode, f.value || coalesce(' of ' || o.bytes || ' bytes', '') "
      "FROM main.NCCL_OPERATION AS o JOIN main.StringTable AS f ON f._id_ = o.function "
      "WHERE o.graphNode IS NOT NULL ORDER BY o._id_");
  while (operation.step()) {
    std::string& text = by_source[{operation.integer(0), operation.integer(1)}];
    if (text.size() > longest_operations) continue;
    text += (text.empty() ? "" : ", ") + std::string(operation.text(2));
  }
  auto node = database.prepare("SELECT processId, node, source FROM main.NCCL_NODE");
  while (node.step()) {
    const auto found = by_source.find({node.integer(0), node.integer(2)});
    if (found != by_source.end()) operations_[{node.integer(0), node.integer(1)}] = found->second;
  }
}

void StackLines::fill(store::Database& database, std::string_view in) const {
  store::Statement insert = compute::fill(database, schema::tables::stack_line, in);
  for (const auto& [key, line] : lines_) {
    const std::string place =
        line.line > 0 ? line.file + ":" + std::to_string(line.line) : line.file;
    insert.bind(1, key.first).bind(2, key.second).bind(3, place).run();
  }
  insert = compute::fill(database, schema::tables::node_stack, in);
  const auto add = [&](const NodeStacks::Entry& node, const std::string* operation) {
    insert.bind(1, node.process).bind(2, node.node).bind(3, node.since);
    node.stack == 0 ? insert.bind_null(4) : insert.bind(4, node.stack);
    node.call == 0 ? insert.bind_null(5) : insert.bind(5, node.call);
    operation ? insert.bind(6, *operation) : insert.bind_null(6);
    insert.run();
  };
  // Those whose making is known have another row.
  for (const auto& [key, operation] : operations_) {
    add({.process = key.first, .node = key.second}, &operation);
  }
  for (const NodeStacks::Entry& node : nodes_) {
    const auto operation = operations_.find({node.process, node.node});
    add(node, operation == operations_.end() ? nullptr : &operation->second);
  }
}

void StackLines::write(store::Database& database) const {
  const bool stacks = calls_have_stacks(database);
  if (stacks) store::add_stack_tables(database);
  const bool nodes = database.has_table(schema::GraphNode::table.name) || !operations_.empty();
  if (nodes) store::add_graph_nodes(database);
  if (stacks || nodes) fill(database, "main");
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
