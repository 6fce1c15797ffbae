// STACK_LINE and NODE_STACK, and what the views of a file with stacks, or of which the nodes of
// graphs are known, show of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/compute/code_lines.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Memory: the file's stacks and nodes of graphs.
class StackLines {
 public:
  // `check` is called now and then and may throw.
  void read(store::Snapshot& snapshot, const std::function<void()>& check);

  // Call inside a transaction.
  void write(store::Database& database) const;

  // Into temporary tables, and the view graph_nodes with them, for a file that is not finished.
  void write_temporarily(store::Database& database) const;

 private:
  void read_operations(store::Database& database);
  void fill(store::Database& database, std::string_view in) const;

  std::vector<std::pair<CodeLines::Key, CodeLine>> lines_;
  std::vector<NodeStacks::Entry> nodes_;
  std::map<NodeStacks::Key, std::string> operations_;  // of NCCL
};

}  // namespace gpuprof::compute
