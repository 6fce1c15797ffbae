#include "libprof/report/cpu_profile.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "schema/host_samples.hpp"

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
  if (!stored(database)) {
    read_host_samples(database);
    return;
  }
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

void CpuProfile::read_host_stacks(store::Database& database) {
  if (!database.has_columns("STACK_ENTRY", {"processId", "stack", "position", "frame"})) return;
  if (!database.has_columns("STACK_FRAME",
                            {"processId", "frame", "module", "function", "line", "offset"})) {
    return;
  }
  std::map<std::string, std::int64_t> texts;
  const auto number_of = [&](std::string_view text) {
    const auto [place, is_new] = texts.try_emplace(std::string(text), std::ssize(texts) + 1);
    if (is_new) strings_[place->second] = text;
    return place->second;
  };
  using Numbers = std::array<std::int64_t, 4>;
  std::map<Numbers, std::int64_t> functions, instructions;
  const auto id_of = [](std::map<Numbers, std::int64_t>& known, const Numbers& numbers) {
    return known.try_emplace(numbers, std::ssize(known) + 1).first->second;
  };
  auto row = database.prepare(
      "SELECT e.processId, e.stack, f.module, f.function, f.line, coalesce(f.offset, -1) "
      "FROM main.STACK_ENTRY AS e JOIN main.STACK_FRAME AS f ON f.frame = e.frame AND f.processId "
      "= "
      "e.processId ORDER BY e.processId, e.stack, e.position");
  std::int64_t inner = 0;  // the call within
  const StackKey* latest = nullptr;
  while (row.step()) {
    const auto stack = host_stacks_.find({row.integer(0), row.integer(1)});
    if (stack == host_stacks_.end()) continue;
    const std::int64_t module = number_of(row.text(2)), name = number_of(row.text(3));
    const std::int64_t line = row.integer(4), offset = row.integer(5);
    const std::int64_t function = id_of(functions, {module, name, 0, 0});
    const std::int64_t instruction = id_of(instructions, {function, line, offset, 0});
    functions_[function] = {name, module, 0};
    libraries_[module] = module;
    instructions_[instruction] = {function, offset, instruction};
    if (line > 0) sources_[instruction] = {module, line};
    const std::int64_t call = std::ssize(calls_) + 1;
    calls_[call] = {instruction, -1};
    if (latest == &stack->first) {
      calls_[inner].caller = call;
    } else {
      stack->second = call;
    }
    latest = &stack->first;
    inner = call;
  }
}

// Of the time that threads ran. `period_us_` is what passed from one look to the next.
void CpuProfile::read_host_samples(store::Database& database) {
  if (!database.has_columns("HOST_SAMPLE",
                            {"processId", "threadId", "state", "stack", "samples", "time", "stop"}))
    return;
  auto all = database.prepare("SELECT total(stop - time), total(samples) FROM main.HOST_SAMPLE");
  if (all.step() && all.real(0) > 0 && all.real(1) > 0) {
    period_us_ = std::max(all.real(0) / all.real(1) / 1000, 1.0);
  }
  constexpr auto ran = static_cast<std::int64_t>(schema::HostSample::State::runs);
  const std::string seen =
      " FROM main.HOST_SAMPLE WHERE samples > 0 AND state = " + std::to_string(ran);
  auto stack = database.prepare("SELECT DISTINCT processId, stack" + seen);
  while (stack.step()) host_stacks_[{stack.integer(0), stack.integer(1)}] = 0;
  read_host_stacks(database);
  auto hits = database.prepare("SELECT threadId, processId, stack, sum(samples)" + seen +
                               " GROUP BY 1, 2, 3 ORDER BY min(_id_)");
  while (hits.step()) {
    const std::int64_t call = host_stacks_[{hits.integer(1), hits.integer(2)}];
    hits_.push_back({hits.integer(0), call, hits.integer(3)});
  }
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
