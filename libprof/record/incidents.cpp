#include "libprof/record/incidents.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "libprof/base/clock.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "schema/activity/all.hpp"
#include "schema/memory_calls.hpp"
#include "schema/step_names.hpp"
#include "schema/traits.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t most_names = 100'000, most_open = 100'000;
constexpr std::size_t most_durations = 64, least_durations = 10;  // for a median
constexpr std::int64_t start_flag = 2, end_flag = 4;              // of a marker
constexpr std::int64_t no_memory = 2;                             // cudaError_t and CUresult
// A range is open if newer records of its process have come without its end, or none at all for
// long. The time of day alone does not say so: threads of a process are read one after the other,
// and the writer of the file may be late by seconds.
constexpr nanoseconds between_threads = seconds(1);
constexpr seconds silent_for{10};
constexpr int latest_calls = 2000;
// GPU work of before cudaProfilerStop comes no later.
constexpr seconds after_stop{2};
// A question takes at most a twentieth of the time.
constexpr seconds between_questions{1}, question_limit{5}, asked_of{10};
constexpr int share_of_questions = 20;
constexpr std::size_t longest_name = 120, longest_row = 200;  // bytes

std::string in_words(double ns) {
  std::array<char, 40> text{};
  const auto& [unit, factor] = ns < 1e6   ? std::pair("us", 1e3)
                               : ns < 1e9 ? std::pair("ms", 1e6)
                                          : std::pair("s", 1e9);
  std::snprintf(text.data(), text.size(), "%.4g %s", ns / factor, unit);
  return text.data();
}

std::string shown(std::string_view text, std::size_t longest = longest_name) {
  return printable(beginning_of(text, longest)) + (text.size() > longest ? "…" : "");
}

// cudaMalloc_v3020 -> cudaMalloc
std::string without_suffix(std::string_view function) {
  return std::string(function.substr(0, function.find('_', 1)));
}

const std::string markers(schema::Marker::table.name);
const std::string memory_calls(schema::MemoryCall::table.name);

}  // namespace

Incidents::Incidents(store::Database& database, std::vector<Trigger> triggers, bool from_now)
    : database_(database), triggers_(std::move(triggers)) {
  for (const Trigger& trigger : triggers_) {
    if (trigger.kind == Trigger::Kind::sql) questions_.push_back({.trigger = &trigger});
  }
  if (!from_now) return;
  store::Statement tables =
      database_.prepare("SELECT name FROM main.sqlite_master WHERE type = 'table'");
  std::vector<std::string> names;
  while (tables.step()) names.emplace_back(tables.text(0));
  for (const std::string& name : names) {
    if (database_.has_column(name, "_id_")) advance(name);
  }
}

bool Incidents::wants(Trigger::Kind kind) const {
  return std::ranges::any_of(triggers_, [=](const Trigger& each) { return each.kind == kind; });
}

std::vector<Incident> Incidents::look(Clock::time_point now) {
  found_.clear();
  database_.execute("BEGIN");  // all statements see the same rows
  try {
    if (wants(Trigger::Kind::range) || wants(Trigger::Kind::step)) look_at_ranges(now);
    if (wants(Trigger::Kind::memory) || wants(Trigger::Kind::idle)) look_at_calls(now);
    if (wants(Trigger::Kind::memory)) look_at_memory_calls();
    if (wants(Trigger::Kind::idle)) look_at_work(now);
    for (Question& question : questions_) ask(question, now);
  } catch (const store::DatabaseError&) {
    if (database_.in_transaction()) database_.execute("ROLLBACK");
    throw;
  }
  database_.execute("COMMIT");
  return std::move(found_);
}

bool Incidents::advance(const std::string& table) {
  if (!database_.has_table(table)) return false;
  const std::int64_t last =
      database_.integer("SELECT max(_id_) FROM main." + store::quoted_name(table)).value_or(0);
  Rows& rows = rows_[table];
  // A table that the ring has emptied numbers its rows from 1 again.
  rows.after = last < rows.last ? 0 : rows.last;
  rows.last = last;
  return last > rows.after;
}

store::Statement Incidents::new_rows(const std::string& table, const std::string& columns,
                                     const std::string& where) {
  store::Statement rows = database_.prepare("SELECT " + columns + " FROM main." + table +
                                            " WHERE _id_ > ?1 AND _id_ <= ?2" + where);
  rows.bind(1, rows_[table].after).bind(2, rows_[table].last);
  return rows;
}

// Ranges.

std::optional<double> Incidents::Durations::median() const {
  if (latest.size() < least_durations) return std::nullopt;
  std::vector<std::int64_t> sorted(latest.begin(), latest.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return static_cast<double>(*middle);
}

void Incidents::Durations::add(std::int64_t duration) {
  latest.push_back(duration);
  if (latest.size() > most_durations) latest.pop_front();
}

bool Incidents::is_step(const std::string& name) {
  if (!step_names_) step_names_.emplace(database_);
  return step_names_->has(name);
}

const Incidents::Name& Incidents::name_of(std::int64_t string) {
  if (names_.size() >= most_names) names_.clear();
  const auto [found, is_new] = names_.try_emplace(string);
  Name& name = found->second;
  if (!is_new) return name;
  store::Statement text = database_.prepare("SELECT value FROM main.StringTable WHERE _id_ = ?1");
  text.bind(1, string);
  if (!text.step()) return name;
  name.text = text.text(0);
  for (const Trigger& trigger : triggers_) {
    const bool is_meant =
        trigger.kind == Trigger::Kind::step ? is_step(name.text) : trigger.is_about(name.text);
    if (is_meant) name.triggers.push_back(&trigger);
  }
  if (!name.triggers.empty()) {
    if (durations_.size() >= most_names) durations_.clear();
    name.durations = &durations_[std::string(schema::without_number(name.text))];
  }
  return name;
}

void Incidents::look_at_ranges(Clock::time_point now) {
  ended_before_ = std::exchange(ended_, {});
  if (advance(markers)) {
    store::Statement rows = new_rows(markers, "flags, timestamp, processId, id, name");
    while (rows.step()) {
      const std::int64_t flags = rows.integer(0), time = rows.integer(1);
      const std::pair key{rows.integer(2), rows.integer(3)};
      hear(key.first, time, now);
      if (flags & start_flag) {
        const Name& name = name_of(rows.integer(4));
        if (name.triggers.empty()) continue;
        Range range{name, time};
        if (const auto ended = end_of(key)) {
          close(range, key.first, *ended);
        } else if (open_.size() < most_open) {
          open_[key] = std::move(range);
        }
      } else if (flags & end_flag) {
        const auto open = open_.find(key);
        if (open != open_.end()) {
          const Range range = std::move(open->second);
          open_.erase(open);
          close(range, key.first, time);
        } else if (ended_.size() < most_open) {
          ended_[key] = time;
        }
      }
    }
  }
  if (!open_.empty()) look_at_open_ranges(now);
}

void Incidents::close(const Range& range, std::int64_t process, std::int64_t end) {
  const std::int64_t duration = end - range.start;
  report(range, process, duration, " took ");
  range.name.durations->add(duration);
}

std::optional<std::int64_t> Incidents::end_of(const RangeKey& key) const {
  for (const Ends* ends : {&ended_, &ended_before_}) {
    if (const auto found = ends->find(key); found != ends->end()) return found->second;
  }
  return std::nullopt;
}

void Incidents::hear(std::int64_t process, std::int64_t time, Clock::time_point now) {
  Heard& heard = heard_[process];
  if (time <= heard.newest) return;
  heard = {time, now};
}

void Incidents::look_at_open_ranges(Clock::time_point now) {
  for (const schema::ApiKind& kind : schema::api_kinds) {
    const std::string table = "CUPTI_ACTIVITY_KIND_" + std::string(kind.kind);
    if (!database_.has_table(table)) continue;
    store::Statement calls = database_.prepare(
        "SELECT processId, max(\"end\") FROM (SELECT processId, \"end\" FROM main." + table +
        " ORDER BY _id_ DESC LIMIT " + std::to_string(latest_calls) + ") GROUP BY 1");
    while (calls.step()) hear(calls.integer(0), calls.integer(1), now);
  }
  for (auto& [key, range] : open_) {
    if (range.reported) continue;
    const Heard& heard = heard_[key.first];
    auto until = std::optional(heard.newest - between_threads.count());
    if (now - heard.at >= silent_for) until = cupti_now();
    if (!until) continue;
    const std::size_t before = found_.size();
    report(range, key.first, *until - range.start, " is open for ");
    range.reported = found_.size() > before;
  }
}

void Incidents::report(const Range& range, std::int64_t process, std::int64_t duration,
                       const std::string& verb) {
  if (range.reported) return;
  const auto time = static_cast<double>(duration);
  for (const Trigger* trigger : range.name.triggers) {
    std::string limit;
    if (trigger->longest.count() > 0 && duration > trigger->longest.count()) {
      limit = "longer than " + in_words(static_cast<double>(trigger->longest.count()));
    } else if (const auto median = range.name.durations->median();
               trigger->times > 0 && median && time > trigger->times * *median) {
      std::array<char, 40> times{};
      std::snprintf(times.data(), times.size(), "%.3g", time / *median);
      limit = std::string(times.data()) + " times the median of " + in_words(*median);
    }
    if (limit.empty()) continue;
    found_.push_back({process, "range \"" + shown(range.name.text) + "\" of process " +
                                   std::to_string(process) + verb + in_words(time) + ", " + limit});
    return;
  }
}

std::optional<std::int64_t> Incidents::cupti_now() {
  if (!cupti_less_realtime_) {
    cupti_less_realtime_ = database_.integer(
        "SELECT cupti - realtime FROM main.CLOCK WHERE cupti > 0 AND realtime > 0 LIMIT 1");
  }
  if (!cupti_less_realtime_) return std::nullopt;
  return clock_ns(CLOCK_REALTIME) + *cupti_less_realtime_;
}

// Calls that found no memory, and cudaProfilerStop.

void Incidents::look_at_calls(Clock::time_point now) {
  // With --track-memory, MEMORY_CALL says more.
  const bool counts =
      wants(Trigger::Kind::memory) &&
      !database_.integer("SELECT 1 FROM main." + std::string(schema::DeviceMemory::table.name) +
                         " LIMIT 1");
  for (const schema::ApiKind& kind : schema::api_kinds) {
    const std::string table = "CUPTI_ACTIVITY_KIND_" + std::string(kind.kind);
    if (kind.domain.empty() || !advance(table)) continue;
    std::string stops;
    store::Statement functions = database_.prepare(
        "SELECT cbid FROM main.API_NAME WHERE domain = ?1 AND name LIKE 'cu%ProfilerStop%'");
    functions.bind(1, kind.domain);
    while (functions.step()) stops += ", " + std::to_string(functions.integer(0));
    store::Statement rows = new_rows(
        table, "cbid, returnValue, processId",
        " AND (returnValue = " + std::to_string(no_memory) + " OR cbid IN (-1" + stops + "))");
    while (rows.step()) {
      store::Statement names =
          database_.prepare("SELECT name FROM main.API_NAME WHERE domain = ?1 AND cbid = ?2");
      names.bind(1, kind.domain).bind(2, rows.integer(0));
      const std::string name = names.step() ? without_suffix(names.text(0)) : "a call";
      if (name.ends_with("ProfilerStop")) stopped_ = now;
      // These only repeat what another call returned.
      const bool repeats = name == "cudaGetLastError" || name == "cudaPeekAtLastError";
      if (!counts || rows.integer(1) != no_memory || repeats || !found_.empty()) continue;
      found_.push_back({rows.integer(2), shown(name) + " of process " +
                                             std::to_string(rows.integer(2)) + " found no memory"});
    }
  }
}

void Incidents::look_at_memory_calls() {
  if (!advance(memory_calls)) return;
  store::Statement rows = new_rows(
      memory_calls,
      "processId, bytes, (SELECT name FROM main.API_NAME AS n WHERE n.cbid = MEMORY_CALL.cbid AND "
      "n.domain = CASE runtime WHEN 1 THEN 'runtime' ELSE 'driver' END)",
      " AND result = " + std::to_string(no_memory));
  if (!rows.step()) return;
  std::array<char, 40> size{};
  std::snprintf(size.data(), size.size(), "%.4g MiB",
                static_cast<double>(rows.integer(1)) / 0x1p20);
  found_.push_back({rows.integer(0), shown(without_suffix(rows.text(2))) + " of process " +
                                         std::to_string(rows.integer(0)) + " asked for " +
                                         size.data() + " and found no memory"});
}

// GPU work.

void Incidents::look_at_work(Clock::time_point now) {
  bool came = false;
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    came |= advance(std::string(kind.table->name));
  }
  if (came) last_work_ = now;
  if (now - stopped_ < after_stop) last_work_.reset();
  if (!last_work_) return;
  for (const Trigger& trigger : triggers_) {
    if (trigger.kind != Trigger::Kind::idle || now - *last_work_ < trigger.longest) continue;
    last_work_.reset();
    found_.push_back({0, idle_text(trigger.longest)});
    return;
  }
}

// With what the program was at.
std::string Incidents::idle_text(nanoseconds time) {
  std::string text = "no GPU work ended for " + in_words(static_cast<double>(time.count()));
  const auto kernel = database_.text(
      "SELECT coalesce(s.demangled, s.value) FROM main.CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k "
      "JOIN main.StringTable AS s ON s._id_ = k.name ORDER BY k._id_ DESC LIMIT 1");
  if (kernel) text += "; the last kernel was " + shown(*kernel);
  store::Statement ranges = database_.prepare(
      "SELECT s.value FROM (SELECT min(_id_) AS row, max(name) AS name, sum(flags & 2) AS starts, "
      "sum(flags & 4) AS ends FROM main.CUPTI_ACTIVITY_KIND_MARKER GROUP BY processId, id) AS r "
      "JOIN main.StringTable AS s ON s._id_ = r.name WHERE starts > 0 AND ends = 0 "
      "ORDER BY row DESC LIMIT 3");
  for (const char* between = "; open ranges: "; ranges.step(); between = ", ") {
    text += between + shown(ranges.text(0));
  }
  return text;
}

// The user's questions.

void Incidents::give_up(Question& question, const std::string& why) {
  question.given_up = true;
  problems_.push_back("--trigger " + shown(question.trigger->text) +
                      " is not asked any more: " + printable(why));
}

void Incidents::ask(Question& question, Clock::time_point now) {
  if (question.given_up || now < question.next) return;
  const auto began = Clock::now();
  const auto is_late = [began] { return Clock::now() - began > question_limit; };
  database_.watch(is_late);
  try {
    store::Statement row = database_.ask(question.trigger->what, true);
    const int since = row.parameter(":since");
    if (since > 0) {
      const std::int64_t now_ns = cupti_now().value_or(0);
      row.bind(since, now_ns - std::int64_t{nanoseconds(asked_of).count()});
    }
    const bool has_row = row.step();
    if (has_row && !question.had_row) {
      std::string text;
      for (int i = 0; i < row.column_count() && text.size() < longest_row; ++i) {
        text += (i > 0 ? ", " : "") + std::string(row.text(i));
      }
      found_.push_back({0, shown(question.trigger->text) + " says " + shown(text, longest_row)});
    }
    question.had_row = has_row;
  } catch (const store::DatabaseError& error) {
    if (error.kind() == store::DatabaseError::Kind::interrupted) {
      give_up(question, "it took longer than " + std::to_string(question_limit.count()) + " s");
    } else if (error.of_statement() || error.kind() == store::DatabaseError::Kind::refused) {
      give_up(question, error.what());
    } else {
      throw;
    }
  } catch (const Error& error) {
    give_up(question, error.what());
  }
  database_.watch({});
  const auto took = Clock::now() - began;
  question.next = now + std::max<Clock::duration>(between_questions, share_of_questions * took);
}

}  // namespace gpuprof::record
