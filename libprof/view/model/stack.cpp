// The host functions that led to a call (--stacks).
#include <map>
#include <utility>
#include <vector>

#include "libprof/base/text.hpp"
#include "libprof/compute/code_lines.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/view/model/sections.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_frames = 100;

struct Frame {
  Detail shown{"not known", "-"};
  compute::CodeLine line;  // empty: not of Python
};

// "/src/train.py:12", "/usr/lib/libmodel.so+0x1c40".
std::string place_in_code(const store::Statement& frame) {
  std::string place(frame.text(2));
  if (frame.is_null(3)) {
    if (frame.integer(4) > 0) place += ":" + std::to_string(frame.integer(4));
    return place;
  }
  const std::string offset = hexadecimal(frame.integer(3));
  return place.empty() ? offset : place + "+" + offset;
}

Frame read_frame(const store::Statement& row) {
  const bool of_python = row.is_null(3);
  const std::string function(row.text(1));
  const std::string name = function.empty() ? "no symbol"
                           : of_python      ? function
                                            : demangled(function);
  Frame frame{.shown = {name, place_in_code(row)}, .line = {}};
  if (of_python) frame.line = {std::string(row.text(2)), function, row.integer(4)};
  return frame;
}

// The call that made the node of a graph that the work is of, which may be a clone; 0: not known.
std::int64_t maker(Subject& subject) {
  if (subject.node == 0 || !subject.tables.has("GRAPH_NODE", "source")) return 0;
  auto row = subject.database.prepare(
      "SELECT source, correlationId FROM main.GRAPH_NODE WHERE node = ?1 AND processId = ?2 "
      "ORDER BY source IS NULL, coalesce(correlationId, 0) > ?3, correlationId DESC LIMIT 1");
  // A number may be that of several nodes, one after the other: the last one until then counts.
  std::int64_t node = subject.node, until = subject.correlation;
  constexpr int most_clones = 8;
  for (int i = 0; i <= most_clones; ++i, row.reset()) {
    if (!row.bind(1, node).bind(2, subject.process).bind(3, until).step()) return 0;
    if (row.integer(0) == 0) return row.integer(1);
    node = row.integer(0);
    until = row.integer(1);
  }
  return 0;
}

// Innermost first.
std::vector<Frame> read_frames(Subject& subject, std::int64_t correlation) {
  reading::Tables& tables = subject.tables;
  if (correlation == 0 || !tables.has("CALL_STACK", "stack") ||
      !tables.has("STACK_ENTRY", "frame") || !tables.has("STACK_FRAME", "offset")) {
    return {};
  }
  auto call = subject.database.prepare(
      "SELECT stack, processId FROM main.CALL_STACK WHERE correlationId = ?1 LIMIT 1");
  if (!call.bind(1, correlation).step()) return {};
  const std::int64_t process = call.integer(1);
  auto entries = subject.database.prepare(
      "SELECT frame FROM main.STACK_ENTRY WHERE stack = ?1 AND processId = ?2 ORDER BY position "
      "LIMIT " +
      std::to_string(most_frames));
  entries.bind(1, call.integer(0)).bind(2, process);
  std::map<std::int64_t, std::vector<std::size_t>> places;  // by frame id
  std::size_t count = 0;
  while (entries.step()) places[entries.integer(0)].push_back(count++);
  std::vector<Frame> stack(count);
  if (count == 0) return stack;
  // The tables have no index, so each is read once.
  auto frames =
      subject.database.prepare("SELECT frame, function, module, offset, " +
                               std::string(tables.has("STACK_FRAME", "line") ? "line" : "NULL") +
                               " FROM main.STACK_FRAME WHERE processId = ?1");
  frames.bind(1, process);
  while (frames.step() && !places.empty()) {
    const auto found = places.find(frames.integer(0));
    if (found == places.end()) continue;
    const Frame frame = read_frame(frames);
    for (const std::size_t place : found->second) stack[place] = frame;
    places.erase(found);
  }
  return stack;
}

// As gpuprof lines chooses it: the innermost function of the program's own files, or else of all.
std::string line_of(const std::vector<Frame>& stack) {
  const compute::CodeLine* line = nullptr;
  for (const auto& [shown, its] : stack) {
    if (its.file.empty()) continue;
    if (!line) line = &its;
    if (compute::is_library(its.file)) continue;
    line = &its;
    break;
  }
  return line ? compute::line_words(*line) : "";
}

}  // namespace

CodePlace read_stack(Subject& subject) {
  CodePlace place{.line = {}, .stack = {.title = "Stack", .rows = {}}};
  std::vector<Frame> stack = read_frames(subject, maker(subject));
  if (!stack.empty()) place.stack.title = "Stack of the call that made its node of the graph";
  if (stack.empty()) stack = read_frames(subject, subject.correlation);
  place.line = line_of(stack);
  for (Frame& frame : stack) place.stack.rows.push_back(std::move(frame.shown));
  return place;
}

}  // namespace gpuprof::view
