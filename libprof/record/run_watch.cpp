#include "libprof/record/run_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/store/guard.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_readings{500}, nap{50};
constexpr std::int64_t most_memory = std::int64_t{1} << 30;  // for SQLite
// A question may be where SQLite asks nobody whether to go on; see incidents.cpp for its time.
constexpr std::chrono::seconds silence{30};
constexpr std::size_t most_files = 64;
constexpr std::size_t longest_line = 4096;
constexpr int most_failures = 5;
constexpr milliseconds without_end = std::chrono::hours(24 * 3650);

// Each line begins with one of these.
constexpr char of_look = '.', of_incident = '+', of_problem = '!';

// false: nobody reads it.
bool say(std::string line) {
  line.resize(std::min(line.size(), longest_line - 1));
  line += '\n';
  return write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool say(Incidents& incidents, Incidents::Clock::time_point now) {
  for (const Incident& each : incidents.look(now)) {
    if (!say(of_incident + std::to_string(each.process) + " " + each.text)) return false;
  }
  for (const std::string& each : incidents.take_problems()) {
    if (!say(of_problem + each)) return false;
  }
  return say(std::string(1, of_look));
}

}  // namespace

void watch_run(const std::string& file, std::vector<Trigger> triggers, bool from_now,
               const std::function<bool()>& is_over) {
  store::limit_memory(most_memory);
  reading::ProfileFile profile(file);
  store::Database& database = profile.database();
  // Other limits are for files that are read once.
  database.ask("SELECT 1", true);
  Incidents incidents(database, std::move(triggers), from_now);
  for (int failures = 0; !is_over();) {
    const auto now = Incidents::Clock::now();
    try {
      if (!say(incidents, now)) return;
      failures = 0;
    } catch (const store::DatabaseError&) {
      // It may be locked for a moment.
      if (++failures == most_failures) throw;
    }
    while (!is_over() && Incidents::Clock::now() - now < between_readings) {
      std::this_thread::sleep_for(nap);
    }
  }
}

RunWatch::RunWatch(std::vector<Trigger> triggers, std::function<void(const std::string&)> note)
    : triggers_(std::move(triggers)), note_(std::move(note)) {}

std::vector<RunWatch::Seen> RunWatch::look(const std::vector<std::string>& files) {
  std::vector<Seen> seen;
  if (!watches()) return seen;
  for (const std::string& file : files) {
    if (files_.contains(file)) continue;
    if (files_.size() < most_files) {
      start(file, files_[file]);
    } else if (!std::exchange(too_many_, true)) {
      note_("--trigger: only " + std::to_string(most_files) + " files are watched");
    }
  }
  for (auto& [file, watched] : files_) {
    if (!watched.process) continue;
    read(file, watched, seen);
    look_after(file, watched);
  }
  return seen;
}

void RunWatch::begin_again() {
  files_.clear();
  from_now_ = true;
}

void RunWatch::start(const std::string& file, Watched& watched) {
  watched.process.reset();
  watched.line.clear();
  watched.said = Clock::now();
  std::vector<std::string> triggers;
  for (const Trigger& trigger : triggers_) {
    const bool left_out = trigger.kind == Trigger::Kind::sql && watched.without_sql;
    if (!left_out) triggers.push_back(trigger.text);
  }
  if (triggers.empty()) return;
  std::vector<std::string> words{"watch-run",
                                 "--triggers=" + joined(triggers, {&between_triggers, 1})};
  if (from_now_) words.emplace_back("--from-now");
  words.insert(words.end(), {"--", file});
  std::array<int, 2> ends{};
  try {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("no more files can be opened");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    watched.lines.emplace(ends[0]);
    const Descriptor in(ends[1]);
    watched.process = std::make_unique<HelperProcess>(
        "/proc/self/exe", words, std::vector<HelperProcess::File>{{*in, STDOUT_FILENO}},
        without_end);
  } catch (const Error& error) {
    note_("--trigger: " + file + " is not watched: " + error.what());
  }
}

void RunWatch::read(const std::string& file, Watched& watched, std::vector<Seen>& seen) {
  std::array<char, 4096> buffer{};
  for (ssize_t got; (got = ::read(**watched.lines, buffer.data(), buffer.size())) > 0;) {
    watched.said = Clock::now();
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
      if (c != '\n') {
        watched.line += c;
        continue;
      }
      take_line(file, std::exchange(watched.line, {}), seen);
    }
  }
}

void RunWatch::take_line(const std::string& file, std::string_view line, std::vector<Seen>& seen) {
  if (line.empty()) return;
  const std::string_view rest = line.substr(1);
  if (line[0] == of_problem) note_(std::string(rest));
  if (line[0] != of_incident) return;
  const std::size_t blank = rest.find(' ');
  const auto process = parse<std::int64_t>(rest.substr(0, blank));
  if (process && blank != rest.npos) {
    seen.push_back({file, {*process, std::string(rest.substr(blank + 1))}});
  }
}

// A process that has ended, or says nothing any more.
void RunWatch::look_after(const std::string& file, Watched& watched) {
  const bool ended = watched.process->ended();
  if (!ended && Clock::now() - watched.said < silence) return;
  watched.process.reset();
  if (ended || watched.without_sql) return note_("--trigger: " + file + " is not watched any more");
  watched.without_sql = true;
  note_("--trigger sql: is not asked any more: it took longer than " +
        std::to_string(silence.count()) + " s");
  start(file, watched);
}

}  // namespace gpuprof::record
