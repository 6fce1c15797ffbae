#include "libprof/exchange/export/code_stacks.hpp"

#include <algorithm>
#include <tuple>

#include "libprof/names/demangle.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::exporting {

CodeStacks::CodeStacks(reading::Profile& profile) {
  store::Database& database = profile.database();
  if (!database.has_column("CALL_STACK", "stack") ||
      database.integer("SELECT EXISTS (SELECT 1 FROM main.CALL_STACK)").value_or(0) == 0) {
    return;
  }
  profile.progress("reading stacks");
  read_stacks(profile);
  columns::Reader calls(profile.snapshot(), {.table = "CALL_STACK",
                                             .columns = {"correlationId", "processId", "stack"}});
  calls.read([&](const columns::Chunk& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const auto stack =
          numbers_.find({columns::whole(chunk[1], row), columns::whole(chunk[2], row)});
      const std::int64_t correlation = columns::whole(chunk[0], row);
      if (correlation != 0 && stack != numbers_.end()) {
        calls_.emplace_back(correlation, stack->second);
      }
    }
  });
  if (!std::ranges::is_sorted(calls_)) std::ranges::sort(calls_);
  nodes_.emplace(profile.snapshot(), [] {});
}

void CodeStacks::read_stacks(reading::Profile& profile) {
  std::map<Key, StackFrame> frames;
  columns::Reader frame_reader(profile.snapshot(), {.table = "STACK_FRAME",
                                                    .columns = {"processId", "frame", "module",
                                                                "function", "line", "offset"}});
  frame_reader.read([&](const columns::Chunk& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      StackFrame frame{std::string(chunk[3].text(row)), std::string(chunk[2].text(row)),
                       columns::whole(chunk[4], row)};
      const bool native = !chunk[5].is_null(row);
      frame.kind = native ? StackFrame::Kind::native : StackFrame::Kind::python;
      if (native && !frame.name.empty()) frame.name = demangled(frame.name);
      if (frame.name.empty()) frame.name = frame.file.substr(frame.file.rfind('/') + 1);
      if (frame.name.empty()) frame.name = "unknown code";
      frames[{columns::whole(chunk[0], row), columns::whole(chunk[1], row)}] = std::move(frame);
    }
  });
  compute::read_native_lines(profile.database(), [&](const Key& key, compute::CodeLine line) {
    const auto frame = frames.find(key);
    if (frame == frames.end()) return;
    frame->second.file = std::move(line.file);
    frame->second.line = line.line;
  });
  struct Entry {
    Key stack;
    std::int64_t position, frame;
  };
  std::vector<Entry> entries;
  columns::Reader entry_reader(
      profile.snapshot(),
      {.table = "STACK_ENTRY", .columns = {"processId", "stack", "position", "frame"}});
  entry_reader.read([&](const columns::Chunk& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      entries.push_back({{columns::whole(chunk[0], row), columns::whole(chunk[1], row)},
                         columns::whole(chunk[2], row),
                         columns::whole(chunk[3], row)});
    }
  });
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.stack, b.position) < std::tie(b.stack, a.position);  // outermost first
  });
  for (const Entry& entry : entries) {
    const auto frame = frames.find({entry.stack.first, entry.frame});
    if (frame == frames.end()) continue;
    const auto [known, is_new] =
        numbers_.try_emplace(entry.stack, static_cast<std::uint32_t>(stacks_.size()));
    if (is_new) stacks_.emplace_back();
    stacks_[known->second].push_back(frame->second);
  }
}

std::uint32_t CodeStacks::stack_of(std::int64_t process, std::int64_t node,
                                   std::int64_t correlation) const {
  if (node != 0 && nodes_) {
    const auto found = numbers_.find({process, nodes_->stack_of(process, node, correlation)});
    if (found != numbers_.end()) return found->second;
  }
  const auto call = std::ranges::lower_bound(calls_, std::pair(correlation, std::uint32_t{0}));
  return call != calls_.end() && call->first == correlation ? call->second : 0;
}

}  // namespace gpuprof::exporting
