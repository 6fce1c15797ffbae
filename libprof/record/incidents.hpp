// Finds incidents (--trigger) in a file while it is being recorded.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/step_names.hpp"
#include "libprof/record/trigger.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::record {

struct Incident {
  std::int64_t process = 0;  // 0: of the run
  std::string text;          // what happened, in one line
};

// Reads what has come since the last look: rows of a table are numbered in the order in which they
// come. In a process of its own (apps/gpuprof/command/watch_run.cpp), because the user's SQL may
// take any time and memory. Memory: open ranges that a trigger is about, and durations of the
// latest ranges of each name.
class Incidents {
 public:
  using Clock = std::chrono::steady_clock;

  // The database must outlive this object. `from_now`: what it has already is not looked at.
  Incidents(store::Database& database, std::vector<Trigger> triggers, bool from_now);

  // Throws DatabaseError.
  std::vector<Incident> look(Clock::time_point now);
  // Why a trigger is not asked any more, since the last call.
  std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

 private:
  // Durations of the latest ranges of one name.
  struct Durations {
    std::deque<std::int64_t> latest;
    // nullopt: too few to know.
    std::optional<double> median() const;
    void add(std::int64_t duration);
  };
  struct Name {
    std::string text;
    std::vector<const Trigger*> triggers;  // that are about it
    Durations* durations = nullptr;        // if there are triggers
  };
  struct Range {
    Name name;
    std::int64_t start = 0;
    bool reported = false;
  };
  // The newest time of a process's records, on CUPTI's clock, and when it came.
  struct Heard {
    std::int64_t newest = 0;
    Clock::time_point at{};
  };
  using RangeKey = std::pair<std::int64_t, std::int64_t>;  // process and id
  using Ends = std::map<RangeKey, std::int64_t>;
  struct Question {
    const Trigger* trigger = nullptr;
    Clock::time_point next{};  // when it is asked again
    bool had_row = false;
    bool given_up = false;
  };
  // Row numbers of a table: what has come since the last look.
  struct Rows {
    std::int64_t after = 0, last = 0;
  };

  bool wants(Trigger::Kind kind) const;
  // Whether rows have come.
  bool advance(const std::string& table);
  store::Statement new_rows(const std::string& table, const std::string& columns,
                            const std::string& where = {});
  const Name& name_of(std::int64_t string);
  bool is_step(const std::string& name);
  void look_at_ranges(Clock::time_point now);
  void look_at_open_ranges(Clock::time_point now);
  void close(const Range& range, std::int64_t process, std::int64_t end);
  std::optional<std::int64_t> end_of(const RangeKey& key) const;
  void hear(std::int64_t process, std::int64_t time, Clock::time_point now);
  void report(const Range& range, std::int64_t process, std::int64_t duration,
              const std::string& verb);
  void look_at_calls(Clock::time_point now);
  void look_at_memory_calls();
  void look_at_work(Clock::time_point now);
  std::string idle_text(std::chrono::nanoseconds time);
  void ask(Question& question, Clock::time_point now);
  void give_up(Question& question, const std::string& why);
  // On CUPTI's clock; nullopt: not known.
  std::optional<std::int64_t> cupti_now();

  store::Database& database_;
  const std::vector<Trigger> triggers_;
  std::vector<Incident> found_;
  std::vector<std::string> problems_;
  std::map<std::string, Rows> rows_;
  std::map<std::string, Durations, std::less<>> durations_;  // by name without its number
  std::unordered_map<std::int64_t, Name> names_;             // by StringTable id
  std::map<RangeKey, Range> open_;
  // Ends that came in this look and the one before without a beginning: where a thread's records go
  // on in another part of memory, that may be read first.
  Ends ended_, ended_before_;
  std::unordered_map<std::int64_t, Heard> heard_;  // by process
  std::optional<compute::StepNames> step_names_;
  // nullopt: none yet, or its end was reported.
  std::optional<Clock::time_point> last_work_;
  Clock::time_point stopped_{};  // the program called cudaProfilerStop
  std::vector<Question> questions_;
  std::optional<std::int64_t> cupti_less_realtime_;
};

}  // namespace gpuprof::record
