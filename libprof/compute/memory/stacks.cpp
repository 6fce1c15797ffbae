#include "libprof/compute/memory/stacks.hpp"

#include <algorithm>
#include <string_view>

#include "libprof/base/text.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::memory {
namespace {

constexpr std::size_t most_frames = 24;  // per text
constexpr std::size_t most_above = 6;    // native ones above the first Python frame

bool is_of_cuda(std::string_view module) {
  return module.starts_with("libcuda.") || module.starts_with("libcudart.");
}

}  // namespace

bool has_stacks(store::Database& database) {
  reading::Tables tables(database);
  return tables.has("CALL_STACK", "stack") && tables.has("STACK_ENTRY", "frame") &&
         tables.has("STACK_FRAME", "function") &&
         database.integer("SELECT EXISTS (SELECT 1 FROM main.CALL_STACK)").value_or(0) != 0;
}

void read_call_stacks(store::Snapshot& snapshot, compute::Sorted<CallStack>& calls,
                      const std::function<void()>& check) {
  columns::Reader reader(snapshot, {.table = "CALL_STACK", .columns = {"correlationId", "stack"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto correlation = chunk[0].int64s(), stack = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk[0].is_null(row)) calls.add({correlation[row], stack[row]});
    }
  });
}

Stacks::Stacks(store::Database& database, const std::function<void()>& check) {
  const bool lines = reading::Tables(database).has("STACK_FRAME", "line");
  auto frame =
      database.prepare("SELECT processId, frame, module, function, offset, offset IS NULL, " +
                       std::string(lines ? "line" : "NULL") + " FROM main.STACK_FRAME");
  while (frame.step()) {
    check();
    const std::string_view module = frame.text(2);
    frames_.try_emplace(
        {frame.integer(0), frame.integer(1)},
        Frame{std::string(module.substr(module.rfind('/') + 1)), std::string(frame.text(3)),
              frame.integer(4), frame.integer(5) != 0, frame.integer(6)});
  }
  auto entry = database.prepare("SELECT stack, position, processId, frame FROM main.STACK_ENTRY");
  while (entry.step()) {
    check();
    stacks_[{entry.integer(2), entry.integer(0)}].push_back({entry.integer(1), entry.integer(3)});
  }
  for (auto& [stack, entries] : stacks_) std::ranges::sort(entries, {}, &Entry::position);
}

std::string Stacks::text(const Frame& frame) {
  if (frame.of_python) {
    const std::string line = frame.line == 0 ? "" : ":" + std::to_string(frame.line);
    if (frame.module.empty()) return frame.function + line;
    return frame.function + " (" + frame.module + line + ")";
  }
  const std::string place = hexadecimal(frame.offset);
  const std::string in = frame.module.empty() ? "" : " (" + frame.module + ")";
  if (!frame.function.empty()) return short_name(demangled(frame.function)) + in;
  return frame.module.empty() ? place : frame.module + "+" + place;
}

std::string Stacks::text(std::int64_t process, std::int64_t stack) {
  const auto found = stacks_.find({process, stack});
  if (found == stacks_.end()) return {};
  const bool with_python = std::ranges::any_of(found->second, [&](const Entry& entry) {
    const auto frame = frames_.find({process, entry.frame});
    return frame != frames_.end() && frame->second.of_python;
  });
  std::string all, last;
  std::size_t count = 0;
  for (const Entry& entry : found->second) {
    const auto frame = frames_.find({process, entry.frame});
    if (frame == frames_.end() || (count == 0 && is_of_cuda(frame->second.module))) continue;
    const bool native = !frame->second.of_python;
    const bool left_out = native && with_python && count >= most_above;
    std::string next = left_out ? "…" : text(frame->second);
    if (next == last) continue;  // overloads of the same name that call each other
    if (count++ > 0) all += " < ";
    if (count > most_frames) return all + "…";
    all += next;
    last = std::move(next);
    // The callers of main are the same in any program.
    if (native && frame->second.function == "main") break;
  }
  return all;
}

}  // namespace gpuprof::memory
