#include "libprof/report/cpu_profile.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpuprof::report {
namespace {

// Deeper stacks lose their outermost frames. The limit also ends a cycle of callers.
constexpr std::size_t most_frames = 4096;

template <typename Use>
void each_row(store::Database& database, const std::string& table,
              std::initializer_list<std::string_view> columns, Use use) {
  std::string list;
  for (const std::string_view column : columns) {
    if (!database.has_column(table, column)) return;
    list.append(list.empty() ? "[" : ", [").append(column).append("]");
  }
  auto rows = database.prepare("SELECT " + list + " FROM " + table);
  while (rows.step()) use(rows);
}

}  // namespace

bool CpuProfile::stored(store::Database& database) {
  return database
      .integer(
          "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'collLibrary' COLLATE "
          "NOCASE")
      .has_value();
}

CpuProfile::CpuProfile(store::Database& database) {
  read_names(database);
  read_calls(database);
  read_hits(database);
}

void CpuProfile::read_names(store::Database& database) {
  using store::Statement;
  each_row(database, "profStringTable", {"id", "value"},
           [&](const Statement& row) { strings_[row.integer(0)] = row.text(1); });
  each_row(database, "collLibrary", {"id", "name"},
           [&](const Statement& row) { libraries_[row.integer(0)] = row.integer(1); });
  each_row(database, "collFunction", {"id", "name", "library", "sourcePos"},
           [&](const Statement& row) {
             functions_[row.integer(0)] = {row.integer(1), row.integer(2), row.integer(3)};
           });
  each_row(database, "collInstruction", {"id", "function", "offset", "sourcePos"},
           [&](const Statement& row) {
             instructions_[row.integer(0)] = {row.integer(1), row.integer(2), row.integer(3)};
           });
  each_row(database, "collSourcePos", {"id", "fileName", "lineNo"}, [&](const Statement& row) {
    sources_[row.integer(0)] = {row.integer(1), row.integer(2)};
  });
  std::unordered_map<std::int64_t, std::int64_t> texts;
  each_row(database, "collCCFFMessage", {"id", "text"},
           [&](const Statement& row) { texts[row.integer(0)] = row.integer(1); });
  const auto read_messages = [&](const std::string& table, std::string_view of,
                                 Messages& messages) {
    each_row(database, table, {of, "message"}, [&](const Statement& row) {
      const auto text = texts.find(row.integer(1));
      if (text != texts.end()) messages.emplace(row.integer(0), text->second);
    });
  };
  read_messages("collFunctionCCFFMessage", "function", function_messages_);
  read_messages("collInstructionCCFFMessage", "instruction", instruction_messages_);
  read_messages("collSourcePosCCFFMessage", "sourcePos", source_messages_);
}

// A call is a node of a forest. Graphs stored top-down have the outermost functions as roots;
// graphs stored bottom-up (orientation 2), the innermost.
void CpuProfile::read_calls(store::Database& database) {
  using store::Statement;
  each_row(database, "profCall", {"id", "instruction"}, [&](const Statement& row) {
    calls_[row.integer(0)] = {row.integer(1), -1};
  });
  each_row(database, "collFunctionCall", {"caller", "callee"}, [&](const Statement& row) {
    const auto call = calls_.find(row.integer(1));
    if (call != calls_.end() && calls_.contains(row.integer(0))) {
      call->second.caller = row.integer(0);
    }
  });
  std::set<std::int64_t> bottom_up;
  bool first = true;
  each_row(database, "profGraph", {"id", "orientation", "samplingPeriod"},
           [&](const Statement& row) {
             if (row.integer(1) == 2) bottom_up.insert(row.integer(0));
             if (std::exchange(first, false) && row.real(2) > 0) period_us_ = row.real(2);
           });
  each_row(database, "collRootCall", {"graph", "callee"}, [&](const Statement& row) {
    inverted_[row.integer(1)] = bottom_up.contains(row.integer(0));
  });
}

void CpuProfile::read_hits(store::Database& database) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places;
  each_row(database, "collHit", {"call", "tid"}, [&](const store::Statement& row) {
    const std::int64_t call = row.integer(0), thread = row.integer(1);
    const auto [place, is_new] = places.try_emplace({thread, call}, hits_.size());
    if (is_new) hits_.push_back({thread, call, 0});
    ++hits_[place->second].samples;
  });
}

const std::string& CpuProfile::text(std::int64_t id) const {
  static const std::string none;
  const auto found = strings_.find(id);
  return found == strings_.end() ? none : found->second;
}

CpuInstruction CpuProfile::instruction(std::int64_t id) const {
  CpuInstruction result;
  const auto add_messages = [&](const Messages& messages, std::int64_t of) {
    const auto [begin, end] = messages.equal_range(of);
    for (auto it = begin; it != end; ++it) result.messages.push_back(text(it->second));
  };
  add_messages(instruction_messages_, id);
  const auto place = instructions_.find(id);
  if (place == instructions_.end()) return result;
  result.offset = place->second.offset;
  if (const auto source = sources_.find(place->second.source); source != sources_.end()) {
    result.file = text(source->second.file);
    result.line = source->second.line;
    add_messages(source_messages_, source->first);
  }
  const auto function = functions_.find(place->second.function);
  if (function == functions_.end()) return result;
  result.function = function->first;
  result.function_name = text(function->second.name);
  add_messages(function_messages_, function->first);
  if (const auto library = libraries_.find(function->second.library); library != libraries_.end()) {
    result.library = text(library->second);
  }
  return result;
}

void CpuProfile::each_stack(const std::function<void(const Stack&)>& use) const {
  std::vector<std::int64_t> instructions;
  for (const Hits& hits : hits_) {
    instructions.clear();
    std::int64_t root = 0;
    for (auto call = calls_.find(hits.call);
         call != calls_.end() && instructions.size() < most_frames;
         call = calls_.find(call->second.caller)) {
      root = call->first;
      instructions.push_back(call->second.instruction);
    }
    if (const auto graph = inverted_.find(root); graph != inverted_.end() && graph->second) {
      std::ranges::reverse(instructions);
    }
    if (instructions.empty()) instructions.push_back(0);  // the call is not stored
    use({hits.thread, instructions, hits.samples});
  }
}

}  // namespace gpuprof::report
