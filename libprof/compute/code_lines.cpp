#include "libprof/compute/code_lines.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

#include "libprof/base/printable.hpp"
#include "libprof/compute/code_stacks.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string line_words(const CodeLine& line) {
  if (line.function.empty() && line.file.empty()) return "no line of Python";
  const std::string file = line.file.substr(line.file.rfind('/') + 1);
  const std::string place = line.line > 0 ? file + ":" + std::to_string(line.line) : file;
  return printable(line.function.empty() ? place : place + " " + line.function);
}

bool is_of_python(std::string_view file) {
  constexpr std::string_view folder = "/python3.";
  for (std::size_t at = file.find(folder); at != file.npos; at = file.find(folder, at + 1)) {
    const std::string_view before = file.substr(0, at);
    if (!before.ends_with("/lib") && !before.ends_with("/lib64")) continue;
    std::string_view rest = file.substr(at + folder.size());
    while (!rest.empty() && (is_digit(rest.front()) || rest.front() == 't')) rest.remove_prefix(1);
    // Installed packages are in there too.
    if (rest.starts_with("/site-packages/") || rest.starts_with("/dist-packages/")) return false;
    if (rest.starts_with('/')) return true;
  }
  return false;
}

bool is_library(std::string_view file) {
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/torchinductor_"}) {
    if (file.find(part) != file.npos) return true;
  }
  // What a user types has such names too.
  if (file.starts_with('<')) {
    for (const std::string_view typed : {"<stdin>", "<string>", "<ipython-input-", "<command-"}) {
      if (file.starts_with(typed)) return false;
    }
    return true;
  }
  return is_of_python(file);
}

bool is_native_library(std::string_view file) {
  if (!file.starts_with('/')) return true;
  for (const std::string_view part :
       {"/usr/include/", "/usr/src/", "/include/c++/", "/cuda/include/", "-linux/include/",
        "/site-packages/", "/dist-packages/", ".cudafe1.stub.c"}) {
    if (file.find(part) != file.npos) return true;
  }
  return false;
}

void read_native_lines(store::Database& database,
                       const std::function<void(const FrameKey&, CodeLine)>& take) {
  if (!database.has_columns("NATIVE_LINE", {"processId", "frame", "file", "line", "function"}))
    return;
  auto row =
      database.prepare("SELECT processId, frame, file, line, function FROM main.NATIVE_LINE");
  while (row.step()) {
    take(std::pair(row.integer(0), row.integer(1)),
         CodeLine{std::string(row.text(2)), std::string(row.text(4)), row.integer(3)});
  }
}

CodeStacks read_code_stacks(store::Snapshot& snapshot, const std::function<void()>& check) {
  CodeStacks stacks;
  stacks.lines.emplace_back();
  stacks.of_library.push_back(false);
  std::map<FrameKey, std::uint32_t> frames;
  std::map<CodeLine, std::uint32_t> numbers;
  const auto number_of = [&](CodeLine line, bool of_library) {
    const auto [known, is_new] =
        numbers.try_emplace(std::move(line), static_cast<std::uint32_t>(stacks.lines.size()));
    if (is_new) {
      stacks.lines.push_back(known->first);
      stacks.of_library.push_back(of_library);
    }
    return known->second;
  };
  read_native_lines(snapshot.database(), [&](const FrameKey& key, CodeLine line) {
    const bool of_library = is_native_library(line.file);
    frames[key] = number_of(std::move(line), of_library);
  });
  columns::Reader frame_reader(
      snapshot, {.table = "STACK_FRAME",
                 .columns = {"processId", "frame", "module", "function", "line", "offset"}});
  frame_reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk[5].is_null(row)) continue;  // native
      CodeLine line{std::string(chunk[2].text(row)), std::string(chunk[3].text(row)),
                    columns::whole(chunk[4], row)};
      const bool of_library = is_library(line.file);
      frames[{columns::whole(chunk[0], row), columns::whole(chunk[1], row)}] =
          number_of(std::move(line), of_library);
    }
  });
  columns::Reader entry_reader(
      snapshot, {.table = "STACK_ENTRY", .columns = {"processId", "stack", "position", "frame"}});
  entry_reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t process = columns::whole(chunk[0], row);
      const auto frame = frames.find({process, columns::whole(chunk[3], row)});
      if (frame == frames.end()) continue;
      stacks.entries.push_back(
          {process, columns::whole(chunk[1], row), columns::whole(chunk[2], row), frame->second});
    }
  });
  std::ranges::sort(stacks.entries);
  return stacks;
}

CodeLines::CodeLines(store::Snapshot& snapshot, LineOf which, const std::function<void()>& check) {
  CodeStacks stacks = read_code_stacks(snapshot, check);
  lines_ = std::move(stacks.lines);
  std::map<Key, bool> found_users;
  for (const CodeStacks::Entry& entry : stacks.entries) {
    const bool of_library = stacks.of_library[entry.line];
    const Key key{entry.process, entry.stack};
    const auto [known, is_new] = by_stack_.try_emplace(key, entry.line);
    bool& found = found_users[key];
    if (found || (!is_new && of_library)) continue;
    found = !of_library || which == LineOf::any_code;
    known->second = entry.line;
  }
}

std::uint32_t CodeLines::line_of(std::int64_t process, std::int64_t stack) const {
  const auto found = by_stack_.find({process, stack});
  return found == by_stack_.end() ? 0 : found->second;
}

void CodeLines::read_calls(store::Snapshot& snapshot, Sorted<Call>& calls,
                           const std::function<void()>& check) const {
  columns::Reader reader(
      snapshot, {.table = "CALL_STACK", .columns = {"correlationId", "processId", "stack"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk[0].is_null(row)) continue;
      const std::uint32_t line =
          line_of(columns::whole(chunk[1], row), columns::whole(chunk[2], row));
      if (line != 0) calls.add({columns::whole(chunk[0], row), line});
    }
  });
}

namespace {

using NodeKey = NodeStacks::Key;

// What a node was cloned or updated from, and by which call.
struct NodeOrigin {
  std::int64_t correlation = 0, source = 0;
  auto operator<=>(const NodeOrigin&) const = default;
};

struct GraphNodes {
  std::map<NodeKey, std::vector<std::int64_t>> made_by;  // correlation ids
  std::map<NodeKey, std::vector<NodeOrigin>> origins;

  // The call that made the node, or that which it is a clone of, which may be a clone; 0: none is
  // known. `until`: the correlation id of the call that cloned it. A number may be that of several
  // nodes, one after the other.
  std::int64_t maker_of(NodeKey node, std::int64_t until) const {
    constexpr int most_clones = 8;
    for (int i = 0; i < most_clones; ++i) {
      const auto found = origins.find(node);
      if (found == origins.end()) break;
      const NodeOrigin& origin =
          last_until(found->second, until, [](const NodeOrigin& its) { return its.correlation; });
      node.second = origin.source;
      until = origin.correlation;
    }
    const auto made = made_by.find(node);
    return made == made_by.end() ? 0 : last_until(made->second, until, std::identity());
  }

 private:
  // In order, and not empty.
  template <class T, class By>
  static const T& last_until(const std::vector<T>& all, std::int64_t until, By by) {
    const auto after = std::ranges::upper_bound(all, until, {}, by);
    return after == all.begin() ? all.front() : *(after - 1);
  }
};

bool read_nodes(store::Database& database, GraphNodes& nodes, const std::function<void()>& check) {
  if (!database.has_columns("GRAPH_NODE", {"processId", "node", "source", "correlationId"}))
    return false;
  auto row = database.prepare("SELECT processId, node, source, correlationId FROM main.GRAPH_NODE");
  while (row.step()) {
    check();
    const NodeKey node{row.integer(0), row.integer(1)};
    if (row.integer(2) != 0) {
      nodes.origins[node].push_back({row.integer(3), row.integer(2)});
    } else {
      nodes.made_by[node].push_back(row.integer(3));
    }
  }
  for (auto& [node, origins] : nodes.origins) std::ranges::sort(origins);
  for (auto& [node, calls] : nodes.made_by) std::ranges::sort(calls);
  return true;
}

// CUPTI 13.4 and later say of work which node it was before graphs were instantiated, also of nodes
// whose making nobody announced.
void read_sources(store::Snapshot& snapshot, GraphNodes& nodes,
                  const std::function<void()>& check) {
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (!snapshot.database().has_column(kind.table->name, "sourceGraphNodeId")) continue;
    columns::Reader reader(snapshot,
                           {.table = std::string(kind.table->name),
                            .columns = {"processId", "graphNodeId", "sourceGraphNodeId"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        const std::int64_t source = columns::whole(chunk[2], row);
        const NodeKey node{columns::whole(chunk[0], row), columns::whole(chunk[1], row)};
        if (source == 0 || source == node.second || nodes.maker_of(node, INT64_MAX) != 0) continue;
        nodes.origins[node] = {{0, source}};
      }
    });
  }
}

}  // namespace

NodeStacks::NodeStacks(store::Snapshot& snapshot, const std::function<void()>& check) {
  GraphNodes nodes;
  if (!read_nodes(snapshot.database(), nodes, check)) return;
  read_sources(snapshot, nodes, check);
  std::map<std::int64_t, std::int64_t> stacks;  // by correlation id of what made nodes
  for (const auto& [node, calls] : nodes.made_by) {
    for (const std::int64_t call : calls) stacks.try_emplace(call, 0);
  }
  columns::Reader reader(snapshot, {.table = "CALL_STACK", .columns = {"correlationId", "stack"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const auto found = stacks.find(columns::whole(chunk[0], row));
      if (found != stacks.end()) found->second = columns::whole(chunk[1], row);
    }
  });
  const auto add = [&](const NodeKey& node, std::int64_t since, std::int64_t maker) {
    const auto found = stacks.find(maker);
    if (maker == 0 || found == stacks.end()) return;
    entries_.push_back({node.first, node.second, since, found->second, maker});
  };
  const auto is_of_work = [](const NodeKey& node) { return node.second > 0; };
  for (const auto& [node, calls] : nodes.made_by) {
    if (is_of_work(node) && !nodes.origins.contains(node)) add(node, 0, calls.front());
  }
  for (const auto& [node, origins] : nodes.origins) {
    if (!is_of_work(node)) continue;
    // Instantiating a graph updates its nodes for the first time: nothing was before that.
    for (std::size_t i = 0; i < origins.size(); ++i) {
      add(node, i == 0 ? 0 : origins[i].correlation,
          nodes.maker_of({node.first, origins[i].source}, origins[i].correlation));
    }
  }
  std::ranges::sort(entries_);
}

std::int64_t NodeStacks::stack_of(std::int64_t process, std::int64_t node,
                                  std::int64_t correlation) const {
  const auto after = std::ranges::upper_bound(
      entries_, Entry{process, node, correlation, std::numeric_limits<std::int64_t>::max()});
  if (after == entries_.begin()) return 0;
  const Entry& entry = *std::prev(after);
  return entry.process == process && entry.node == node ? entry.stack : 0;
}

}  // namespace gpuprof::compute
