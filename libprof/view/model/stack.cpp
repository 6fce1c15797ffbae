// The host functions that led to a call (--stacks).
#include <map>
#include <vector>

#include "libprof/base/text.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/view/model/sections.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_frames = 100;

std::string name_of(const store::Statement& frame) {
  const bool of_python = frame.is_null(3);
  std::string name(frame.text(1));
  if (name.empty()) return "no symbol";
  return of_python ? name : demangled(name);
}

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

}  // namespace

Section read_stack(Subject& subject) {
  Section section{.title = "Stack", .rows = {}};
  reading::Tables& tables = subject.tables;
  if (subject.correlation == 0 || !tables.has("CALL_STACK", "stack") ||
      !tables.has("STACK_ENTRY", "frame") || !tables.has("STACK_FRAME", "offset")) {
    return section;
  }
  auto call = subject.database.prepare(
      "SELECT stack, processId FROM main.CALL_STACK WHERE correlationId = ?1 LIMIT 1");
  if (!call.bind(1, subject.correlation).step()) return section;
  const std::int64_t process = call.integer(1);
  auto entries = subject.database.prepare(
      "SELECT frame FROM main.STACK_ENTRY WHERE stack = ?1 AND processId = ?2 ORDER BY position "
      "LIMIT " +
      std::to_string(most_frames));
  entries.bind(1, call.integer(0)).bind(2, process);
  std::map<std::int64_t, std::vector<std::size_t>> places;  // by frame id
  std::size_t count = 0;
  while (entries.step()) places[entries.integer(0)].push_back(count++);
  if (count == 0) return section;
  section.rows.resize(count, {"not known", "-"});
  // The tables have no index, so each is read once.
  auto frames =
      subject.database.prepare("SELECT frame, function, module, offset, " +
                               std::string(tables.has("STACK_FRAME", "line") ? "line" : "NULL") +
                               " FROM main.STACK_FRAME WHERE processId = ?1");
  frames.bind(1, process);
  while (frames.step() && !places.empty()) {
    const auto found = places.find(frames.integer(0));
    if (found == places.end()) continue;
    const Detail frame{name_of(frames), place_in_code(frames)};
    for (const std::size_t place : found->second) section.rows[place] = frame;
    places.erase(found);
  }
  return section;
}

}  // namespace gpuprof::view
