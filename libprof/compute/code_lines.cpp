#include "libprof/compute/code_lines.hpp"

#include <algorithm>

#include "libprof/base/printable.hpp"
#include "libprof/compute/code_stacks.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string line_words(const CodeLine& line) {
  if (line.function.empty() && line.file.empty()) return "not in Python";
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

CodeStacks read_code_stacks(store::Snapshot& snapshot, const std::function<void()>& check) {
  CodeStacks stacks;
  stacks.lines.emplace_back();
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> frames;  // by process and frame
  std::map<CodeLine, std::uint32_t> numbers;
  columns::Reader frame_reader(
      snapshot, {.table = "STACK_FRAME",
                 .columns = {"processId", "frame", "module", "function", "line", "offset"}});
  frame_reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk[5].is_null(row)) continue;  // native
      CodeLine line{std::string(chunk[2].text(row)), std::string(chunk[3].text(row)),
                    columns::whole(chunk[4], row)};
      const auto [known, is_new] =
          numbers.try_emplace(std::move(line), static_cast<std::uint32_t>(stacks.lines.size()));
      if (is_new) stacks.lines.push_back(known->first);
      frames[{columns::whole(chunk[0], row), columns::whole(chunk[1], row)}] = known->second;
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
  std::vector<bool> of_library;
  for (const CodeLine& line : lines_) of_library.push_back(is_library(line.file));
  std::map<Key, bool> found_users;
  for (const CodeStacks::Entry& entry : stacks.entries) {
    const Key key{entry.process, entry.stack};
    const auto [known, is_new] = by_stack_.try_emplace(key, entry.line);
    bool& found = found_users[key];
    if (found || (!is_new && of_library[entry.line])) continue;
    found = !of_library[entry.line] || which == LineOf::any_code;
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

NodeLines::NodeLines(store::Database& database, Sorted<CodeLines::Call>& calls,
                     const std::function<void()>& check) {
  for (const char* column : {"processId", "node", "source", "correlationId"}) {
    if (!database.has_column("GRAPH_NODE", column)) return;
  }
  using Node = std::pair<std::int64_t, std::int64_t>;
  std::map<Node, std::int64_t> sources, made_by;
  std::map<std::int64_t, std::uint32_t> lines;  // by correlation id
  auto row = database.prepare("SELECT processId, node, source, correlationId FROM main.GRAPH_NODE");
  while (row.step()) {
    check();
    const Node node{row.integer(0), row.integer(1)};
    if (row.integer(2) != 0) {
      sources[node] = row.integer(2);
    } else if (made_by.try_emplace(node, row.integer(3)).second) {
      lines.try_emplace(row.integer(3), 0);
    }
  }
  calls.for_each([&](const CodeLines::Call& call) {
    const auto found = lines.find(call.correlation);
    if (found != lines.end()) found->second = call.line;
  });
  // What instantiating a graph makes is a clone of what is in the graph, which may be a clone.
  constexpr int most_clones = 8;
  const auto line_of = [&](Node node) -> std::uint32_t {
    for (int i = 0; i < most_clones; ++i) {
      const auto source = sources.find(node);
      if (source == sources.end()) break;
      node.second = source->second;
    }
    const auto made = made_by.find(node);
    return made == made_by.end() ? 0 : lines.at(made->second);
  };
  for (const auto& [node, correlation] : made_by) lines_[node] = line_of(node);
  for (const auto& [node, source] : sources) lines_[node] = line_of(node);
}

std::uint32_t NodeLines::line_of(std::int64_t process, std::int64_t node) const {
  const auto found = lines_.find({process, node});
  return found == lines_.end() ? 0 : found->second;
}

}  // namespace gpuprof::compute
