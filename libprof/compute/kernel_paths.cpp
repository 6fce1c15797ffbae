#include "libprof/compute/kernel_paths.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/code_stacks.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

using Check = std::function<void()>;
using Node = KernelPaths::Node;
using Call = CodeLines::Call;  // its line is a node here

// Of a path; what is outside of these levels is left out, which only a forged file has.
constexpr std::size_t most_levels = 128;

// Nodes of ranges with work, by their names.
class RangeNodes {
 public:
  RangeNodes(store::Snapshot& snapshot, std::vector<Node>& nodes, const Check& check)
      : nodes_(nodes) {
    columns::Reader all(snapshot, {.table = "NVTX_RANGE", .columns = {"_id_", "parent", "name"}});
    all.read([&](const columns::Chunk& chunk) {
      check();
      for (std::size_t i = 0; i < chunk.rows(); ++i) {
        ranges_.push_back({columns::whole(chunk[0], i), columns::whole(chunk[1], i),
                           columns::whole(chunk[2], i)});
      }
    });
    std::ranges::sort(ranges_, {}, &Range::id);
  }

  std::uint32_t node_of(std::int64_t id) {
    std::vector<Range*> unknown;
    std::uint32_t node = 0;
    for (Range* its = range(id); its && unknown.size() < most_levels; its = around(*its)) {
      if (its->node != 0) {
        node = its->node;
        break;
      }
      unknown.push_back(its);
    }
    for (; !unknown.empty(); unknown.pop_back()) {
      Range& its = *unknown.back();
      const auto [place, is_new] =
          places_.try_emplace({node, its.name}, static_cast<std::uint32_t>(nodes_.size()));
      if (is_new) nodes_.push_back({.parent = node, .name = its.name});
      node = its.node = place->second;
    }
    return node;
  }

 private:
  struct Range {
    std::int64_t id, parent, name;
    std::uint32_t node = 0;  // 0: not known yet
  };

  Range* range(std::int64_t id) {
    const auto found = std::ranges::lower_bound(ranges_, id, {}, &Range::id);
    return found == ranges_.end() || found->id != id ? nullptr : &*found;
  }
  // Ids are assigned in start order: a larger parent id could lead to a cycle.
  Range* around(const Range& its) { return its.parent < its.id ? range(its.parent) : nullptr; }

  std::vector<Node>& nodes_;
  std::vector<Range> ranges_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> places_;  // by parent and name
};

void read_calls_by_range(store::Snapshot& snapshot, std::vector<Node>& nodes, Sorted<Call>& calls,
                         const Check& check) {
  RangeNodes ranges(snapshot, nodes, check);
  columns::Reader reader(snapshot,
                         {.table = "LAUNCH_RANGE", .columns = {"correlationId", "range"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      const std::uint32_t node = ranges.node_of(columns::whole(chunk[1], i));
      if (node != 0) calls.add({columns::whole(chunk[0], i), node});
    }
  });
}

using StackNodes = std::map<CodeLines::Key, std::uint32_t>;  // by process and stack

StackNodes read_calls_by_stack(store::Snapshot& snapshot, std::vector<Node>& nodes,
                               Sorted<Call>& calls, const Check& check) {
  const CodeStacks stacks = read_code_stacks(snapshot, check);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> places;  // by parent and line
  StackNodes by_stack;
  for (std::size_t i = 0; i < stacks.entries.size();) {
    const CodeStacks::Entry& first = stacks.entries[i];
    std::size_t end = i;
    while (end < stacks.entries.size() && stacks.entries[end].process == first.process &&
           stacks.entries[end].stack == first.stack) {
      ++end;
    }
    std::uint32_t node = 0;
    for (std::size_t k = std::min(end, i + most_levels); k-- > i;) {  // from the outermost on
      const std::uint32_t line = stacks.entries[k].line;
      const auto [place, is_new] =
          places.try_emplace({node, line}, static_cast<std::uint32_t>(nodes.size()));
      if (is_new) nodes.push_back({.parent = node, .words = line_words(stacks.lines[line])});
      node = place->second;
    }
    by_stack[{first.process, first.stack}] = node;
    i = end;
  }
  columns::Reader reader(
      snapshot, {.table = "CALL_STACK", .columns = {"correlationId", "processId", "stack"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      if (chunk[0].is_null(i)) continue;
      const auto node = by_stack.find({columns::whole(chunk[1], i), columns::whole(chunk[2], i)});
      if (node != by_stack.end()) calls.add({columns::whole(chunk[0], i), node->second});
    }
  });
  return by_stack;
}

// Where the nodes of graphs were made.
class NodeMakers {
 public:
  NodeMakers(store::Snapshot& snapshot, StackNodes nodes, const Check& check)
      : stacks_(snapshot, check), nodes_(std::move(nodes)) {}

  // 0: not known.
  std::uint32_t node_of(std::int64_t process, std::int64_t graph_node,
                        std::int64_t correlation) const {
    const auto found = nodes_.find({process, stacks_.stack_of(process, graph_node, correlation)});
    return found == nodes_.end() ? 0 : found->second;
  }

 private:
  const NodeStacks stacks_;
  const StackNodes nodes_;
};

struct Launch {
  std::int64_t correlation = 0, name = 0, time = 0;
  std::uint32_t node = 0;  // 0: that of its call
  bool operator<(const Launch& other) const { return correlation < other.correlation; }
};

// `makers`: null, or where the nodes of graphs were made.
void read_launches(store::Snapshot& snapshot, std::int64_t from, std::int64_t to,
                   const NodeMakers* makers, Sorted<Launch>& launches, const Check& check) {
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (!kind.is_kernel() || kind.stays_empty) continue;
    const bool in_graphs = makers && schema::has_column(*kind.table, "graphNodeId");
    std::vector<std::string> columns{"correlationId", "start", std::string(kind.end), "name"};
    if (in_graphs) columns.insert(columns.end(), {"graphNodeId", "processId"});
    columns::Reader reader(snapshot, {.table = std::string(kind.table->name), .columns = columns});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      for (std::size_t i = 0; i < chunk.rows(); ++i) {
        const std::int64_t start = columns::whole(chunk[1], i);
        const std::int64_t time = saturating_subtract(columns::whole(chunk[2], i), start);
        if (start <= 0 || time <= 0 || start < from || start >= to) continue;
        const std::int64_t node = in_graphs ? columns::whole(chunk[4], i) : 0;
        launches.add({columns::whole(chunk[0], i), columns::whole(chunk[3], i), time,
                      node == 0 ? 0
                                : makers->node_of(columns::whole(chunk[5], i), node,
                                                  columns::whole(chunk[0], i))});
      }
    });
  }
}

}  // namespace

KernelPaths kernel_paths(store::Snapshot& snapshot, PathBy by, std::int64_t from, std::int64_t to,
                         const Check& check) {
  KernelPaths paths;
  paths.nodes.emplace_back();
  Sorted<Call> calls;
  Sorted<Launch> launches;
  if (!has_paths(snapshot.database(), by)) {
    read_launches(snapshot, from, to, nullptr, launches, check);
  } else if (by == PathBy::ranges) {
    read_calls_by_range(snapshot, paths.nodes, calls, check);
    read_launches(snapshot, from, to, nullptr, launches, check);
  } else {
    const NodeMakers makers(snapshot, read_calls_by_stack(snapshot, paths.nodes, calls, check),
                            check);
    read_launches(snapshot, from, to, &makers, launches, check);
  }
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> places;  // by node and name
  Sorted<Call>::Cursor call(calls);
  launches.for_each([&](const Launch& launch) {
    while (!call.at_end() && call.front().correlation < launch.correlation) call.advance();
    const bool known =
        launch.correlation != 0 && !call.at_end() && call.front().correlation == launch.correlation;
    const std::uint32_t node = launch.node != 0 ? launch.node : known ? call.front().line : 0;
    const auto [place, is_new] = places.try_emplace({node, launch.name}, paths.sums.size());
    if (is_new) paths.sums.push_back({.node = node, .name = launch.name});
    KernelPaths::Sum& sum = paths.sums[place->second];
    sum.time = saturating_add(sum.time, launch.time);
    ++sum.launches;
  });
  std::ranges::stable_sort(paths.sums, std::greater{}, &KernelPaths::Sum::time);
  return paths;
}

bool has_paths(store::Database& database, PathBy by) {
  if (by == PathBy::ranges) {
    return database.has_column("LAUNCH_RANGE", "range") &&
           database.has_column("NVTX_RANGE", "parent") &&
           database.prepare("SELECT 1 FROM main.LAUNCH_RANGE LIMIT 1").step();
  }
  return database.has_column("CALL_STACK", "stack") &&
         database.has_column("STACK_ENTRY", "position") &&
         database.has_column("STACK_FRAME", "line") &&
         database.has_column("STACK_FRAME", "offset") &&
         database.prepare("SELECT 1 FROM main.STACK_FRAME WHERE offset IS NULL LIMIT 1").step();
}

}  // namespace gpuprof::compute
