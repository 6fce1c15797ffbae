#include "libprof/report/cpu_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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

bool has_cpu_samples(store::Database& database) {
  return database.has_columns("CPU_SAMPLE",
                              {"processId", "threadId", "frame", "stack", "samples", "cpuTime"});
}
bool has_host_samples(store::Database& database) {
  return database.has_columns("HOST_SAMPLE", {"processId", "ofProcess", "threadId", "state",
                                              "stack", "samples", "time", "stop"});
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
    read_own(database);
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

// --- gpuprof's own

class CpuProfile::Places {
 public:
  Places(CpuProfile& profile, store::Database& database)
      : profile_(profile),
        has_frames_(database.has_columns(
            "STACK_FRAME", {"processId", "frame", "module", "function", "line", "offset"})) {
    if (!has_frames_) return;
    const bool lines = database.has_columns("NATIVE_LINE", {"processId", "frame", "file", "line"});
    auto row = database.prepare(
        lines ? "SELECT f.processId, f.frame, f.module, f.function, f.line, f.offset, l.file, "
                "l.line FROM main.STACK_FRAME AS f LEFT JOIN main.NATIVE_LINE AS l ON l.processId "
                "= f.processId AND l.frame = f.frame AND f.offset IS NOT NULL"
              : "SELECT processId, frame, module, function, line, offset, NULL, NULL FROM "
                "main.STACK_FRAME");
    while (row.step()) {
      const std::int64_t offset = row.is_null(5) ? -1 : std::max<std::int64_t>(row.integer(5), 0);
      numbers_[{row.integer(0), row.integer(1)}] =
          row.is_null(6) ? add(row.text(2), row.text(3), row.text(2), row.integer(4), offset)
                         : add(row.text(2), row.text(3), row.text(6), row.integer(7), offset);
    }
  }

  bool any() const { return has_frames_; }
  // The instruction of a frame; 0: there is no such frame.
  std::int64_t instruction(std::int64_t process, std::int64_t frame) const {
    const auto known = numbers_.find({process, frame});
    return known == numbers_.end() ? 0 : known->second;
  }

 private:
  using Numbers = std::array<std::int64_t, 3>;

  static std::int64_t id_of(std::map<Numbers, std::int64_t>& known, const Numbers& numbers) {
    return known.try_emplace(numbers, std::ssize(known) + 1).first->second;
  }
  std::int64_t number_of(std::string_view text) {
    const auto [place, is_new] = texts_.try_emplace(std::string(text), std::ssize(texts_) + 1);
    if (is_new) profile_.strings_[place->second] = text;
    return place->second;
  }
  std::int64_t add(std::string_view module, std::string_view function, std::string_view file,
                   std::int64_t line, std::int64_t offset) {
    const std::int64_t library = number_of(module), name = number_of(function);
    const std::int64_t its_function = id_of(functions_, {library, name, 0});
    const std::int64_t instruction = id_of(instructions_, {its_function, line, offset});
    profile_.functions_[its_function] = {name, library, 0};
    profile_.libraries_[library] = library;
    profile_.instructions_[instruction] = {its_function, offset, instruction};
    if (line > 0) {
      profile_.sources_[instruction] = {number_of(file), line};
    } else if (offset >= 0) {
      profile_.sources_[instruction] = {number_of("???"), 0};  // as nvprof stores it
    }
    return instruction;
  }

  CpuProfile& profile_;
  const bool has_frames_;
  std::map<std::string, std::int64_t, std::less<>> texts_;
  std::map<Numbers, std::int64_t> functions_, instructions_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> numbers_;  // by process and frame
};

void CpuProfile::read_own(store::Database& database) {
  Places places(*this, database);
  if (has_cpu_samples(database)) {
    auto row = database.prepare("SELECT DISTINCT processId, stack FROM main.CPU_SAMPLE");
    while (row.step()) stacks_[{row.integer(0), row.integer(1)}] = 0;
  }
  if (has_host_samples(database)) {
    auto row = database.prepare("SELECT DISTINCT processId, stack FROM main.HOST_SAMPLE");
    while (row.step()) stacks_[{row.integer(0), row.integer(1)}] = 0;
  }
  read_stacks(database, places);
  if (has_cpu_samples(database)) read_cpu_samples(database, places);
  if (has_host_samples(database)) read_host_samples(database);
}

void CpuProfile::read_stacks(store::Database& database, Places& places) {
  if (!places.any()) return;
  if (!database.has_columns("STACK_ENTRY", {"processId", "stack", "position", "frame"})) return;
  auto row = database.prepare(
      "SELECT processId, stack, frame FROM main.STACK_ENTRY ORDER BY processId, stack, position");
  std::int64_t inner = 0;  // the call within
  const StackKey* latest = nullptr;
  while (row.step()) {
    const auto stack = stacks_.find({row.integer(0), row.integer(1)});
    if (stack == stacks_.end()) continue;
    const std::int64_t instruction = places.instruction(row.integer(0), row.integer(2));
    if (instruction == 0) continue;
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

// Each sample stands for the same processor time.
void CpuProfile::read_cpu_samples(store::Database& database, Places& places) {
  auto all = database.prepare("SELECT total(cpuTime), total(samples) FROM main.CPU_SAMPLE");
  if (all.step() && all.real(0) > 0 && all.real(1) > 0) {
    period_us_ = std::max(all.real(0) / all.real(1) / 1000, 1.0);
  }
  auto row = database.prepare(
      "SELECT threadId, processId, frame, stack, sum(samples) FROM main.CPU_SAMPLE WHERE samples > "
      "0 GROUP BY 1, 2, 3, 4 ORDER BY min(_id_)");
  while (row.step()) {
    const std::int64_t process = row.integer(1);
    const std::int64_t callers = stacks_[{process, row.integer(3)}];
    const std::int64_t instruction = places.instruction(process, row.integer(2));
    std::int64_t call = callers;
    if (instruction != 0) {
      call = std::ssize(calls_) + 1;
      calls_[call] = {instruction, callers == 0 ? -1 : callers};
    }
    hits_.push_back({row.integer(0), call, row.integer(4)});
    sampled_.insert(process);
  }
}

// Of the time that threads ran, which passed from one look to the next.
void CpuProfile::read_host_samples(store::Database& database) {
  double period_us = period_us_;
  auto all = database.prepare("SELECT total(stop - time), total(samples) FROM main.HOST_SAMPLE");
  if (all.step() && all.real(0) > 0 && all.real(1) > 0) {
    period_us = std::max(all.real(0) / all.real(1) / 1000, 1.0);
  }
  // Where there are samples of both kinds, these count in the other's.
  if (sampled_.empty()) period_us_ = period_us;
  constexpr auto ran = static_cast<std::int64_t>(schema::HostSample::State::runs);
  auto row = database.prepare(
      "SELECT threadId, processId, ofProcess, stack, sum(samples) FROM main.HOST_SAMPLE WHERE "
      "samples > 0 AND state = " +
      std::to_string(ran) + " GROUP BY 1, 2, 3, 4 ORDER BY min(_id_)");
  while (row.step()) {
    if (sampled_.contains(row.integer(2))) continue;
    const double samples = static_cast<double>(row.integer(4)) * period_us / period_us_;
    hits_.push_back({row.integer(0), stacks_[{row.integer(1), row.integer(3)}],
                     static_cast<std::int64_t>(std::clamp(std::round(samples), 1.0, 9e18))});
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
