// STACK_LINE and NODE_STACK, and what the views of a file with stacks show of them.
#pragma once

#include <cstdint>
#include <functional>
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
  // Nothing where no call has a stack. `check` is called now and then and may throw.
  void read(store::Snapshot& snapshot, const std::function<void()>& check);

  // Call inside a transaction.
  void write(store::Database& database) const;

  // Into temporary tables, and the view graph_nodes with them, for a file that is not finished.
  void write_temporarily(store::Database& database) const;

 private:
  void fill(store::Database& database, std::string_view in) const;

  std::vector<std::pair<CodeLines::Key, CodeLine>> lines_;
  std::vector<NodeStacks::Entry> nodes_;
};

}  // namespace gpuprof::compute
