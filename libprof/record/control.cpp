#include "libprof/record/control.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds collector_patience{5000};
constexpr milliseconds commit_patience{60'000};
constexpr milliseconds between_looks{500};
constexpr int look_ms = 100;
constexpr milliseconds between_snapshots{10'000};
constexpr std::chrono::seconds end_patience{2};    // for the run to end with a process that died
constexpr std::chrono::seconds copy_patience{60};  // for copies at the end of the run

wire::Fields refused(std::string_view why, std::string_view hint = {}) {
  wire::Fields fields;
  fields.set("error", why);
  fields.set("hint", hint);
  return fields;
}

// Whether something was written into it lately, or into its log.
bool is_in_use(const std::string& file) {
  constexpr std::time_t lately = 600;
  return std::ranges::any_of(std::array{file, file + "-wal"}, [](const std::string& path) {
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 && facts.st_mtime >= std::time(nullptr) - lately;
  });
}

std::string file_name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// The number of records in the files.
std::int64_t kept(const store::LoadTotals& totals) {
  return static_cast<std::int64_t>(totals.records - std::min(totals.records, totals.let_go));
}

}  // namespace

Control::Control(ControlOptions options, launch::Listener& listener, LoadingThread& loading,
                 const Say& say)
    : options_(std::move(options)),
      listener_(listener),
      loading_(loading),
      since_(Clock::now()),
      watch_(
          options_.triggers, options_.note ? options_.note : [](const std::string&) {}),
      snapshots_(
          {.most = options_.most_snapshots,
           .between = std::min(between_snapshots, options_.kept.value_or(between_snapshots) / 2)},
          options_.note),
      peers_(options_.keeps_last ? options_.group : std::nullopt, listener.own_folder(),
             [this](const std::string& text) { note(text); }),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_ < 0) throw Error(std::string("no descriptor for control: ") + std::strerror(errno));
  const auto begin = since_ + options_.delay.value_or(milliseconds(0));
  if (options_.delay) begins_ = begin;
  if (options_.duration) ends_ = begin + *options_.duration;
  if (options_.every) wait_for_the_wall_clock();
  traces_ = !begins_;
  if (options_.keeps_last) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    signal_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  try {
    socket_.emplace(listener.own_folder());
  } catch (const Error& error) {
    say(error.what());
  }
  thread_ = std::thread([this] { run(); });
}

std::vector<std::string> Control::end() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  std::vector<std::string> texts;
  if (const auto& waiting = snapshots_.waiting()) texts.push_back(waiting->text());
  return texts;
}

Control::~Control() {
  end();
  close(stop_);
  if (signal_ >= 0) close(signal_);
}

void Control::run() {
  while (turn(patience_ms(), true)) continue;
  goes_on_ = false;
  // Copies that have begun are worth the wait, and need this thread. What else has happened is in
  // the run's file.
  take_incidents();
  if (snapshots_.writes()) note("waiting for the snapshot that is being written");
  const auto until = Clock::now() + copy_patience;
  while (snapshots_.writes() && Clock::now() < until && !(options_.hurried && options_.hurried())) {
    turn(look_ms, false);
  }
}

// Answers for this time. `goes_on`: the run does, and false is returned once it is over.
bool Control::turn(int patience, bool goes_on) {
  pollfd waiting[] = {{goes_on ? stop_ : -1, POLLIN, 0},
                      {socket_ ? socket_->descriptor() : -1, POLLIN, 0},
                      {signal_, POLLIN, 0}};
  if (poll(waiting, std::size(waiting), patience) < 0 && errno != EINTR) return false;
  if (waiting[0].revents) return false;
  try {
    if (waiting[1].revents) {
      socket_->serve(
          [this](const wire::Fields& request, pid_t caller) { return answer(request, caller); });
    }
    if (goes_on) {
      // Of the time of the request, so before this run's own, which may be in it.
      if (const auto asked = std::exchange(peers_request_, std::nullopt)) {
        write_snapshots(snapshots_.begin_for_another(asked->why, Clock::now()), asked->moment);
      }
      look_at_the_clock();
      look_at_the_size();
      if (waiting[2].revents) look_at_the_signal();
      take_incidents();
      look_for_snapshots();
    }
    snapshots_.look_after();
    peers_.look_after();
  } catch (const std::exception&) {
    // There was no memory for this request.
  }
  return true;
}

int Control::patience_ms() const {
  if (begins_ || ends_) {
    const auto next = std::min(begins_.value_or(Clock::time_point::max()),
                               ends_.value_or(Clock::time_point::max()));
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, between_looks.count()));
  }
  return options_.most_bytes > 0 || options_.keeps_last ? static_cast<int>(between_looks.count())
                                                        : -1;
}

void Control::wait_for_the_wall_clock() {
  const auto now = std::chrono::system_clock::now();
  at_ = now + (*options_.every - now.time_since_epoch() % *options_.every);
  begins_ = Clock::now() + (*at_ - now);
  ends_.reset();
}

void Control::look_at_the_clock() {
  const auto now = Clock::now();
  // It may have been set meanwhile, and is, all the time, a little.
  if (begins_ && at_) begins_ = now + (*at_ - std::chrono::system_clock::now());
  if (begins_ && now >= *begins_) {
    begins_.reset();
    trace(true);
    if (options_.every && options_.duration) ends_ = now + *options_.duration;
  }
  if (ends_ && now >= *ends_) {
    ends_.reset();
    trace(false);
    if (options_.every) return wait_for_the_wall_clock();
    note("the time to record is over; the program runs on");
  }
}

void Control::look_at_the_size() {
  if (options_.most_bytes == 0 || !traces_ || bytes() < options_.most_bytes) return;
  trace(false);
  note(
      "the file has the size that --max-size allows: nothing more is recorded, the program runs "
      "on");
}

void Control::look_at_the_signal() {
  signalfd_siginfo taken{};
  if (read(signal_, &taken, sizeof taken) != sizeof taken) return;
  write_snapshots("SIGUSR2", Snapshots::Moment::now());
}

// The others are asked before this run's own processes, so that all begin at once.
void Control::look_for_snapshots() {
  const auto why = snapshots_.due(Clock::now());
  if (!why) return;
  const Snapshots::Moment moment = Snapshots::Moment::now();
  peers_.ask(*why, moment);
  write_snapshots(*why, moment);
}

// All processes are asked at once, so the files have the same time.
void Control::write_snapshots(const std::string& why, const Snapshots::Moment& moment) {
  wire::Fields ignored;
  flush(ignored, listener_.ask_targets(std::nullopt, collector_patience));
  std::vector<std::string> files = loading_.committed().files;
  // Files of processes that ended long ago are whole.
  if (files.size() > 1) std::erase_if(files, std::not_fn(is_in_use));
  snapshots_.write(files, why, moment, files.size() > 1 || peers_.group().has_value());
  if (files.empty()) note(why + ": nothing is recorded yet");
}

void Control::take_incidents() {
  if (!options_.keeps_last) return;
  const auto now = Clock::now();
  const std::vector<std::string> files = loading_.committed().files;
  const std::vector<std::int64_t> active = listener_.active_processes();
  for (const auto& [file, incident] : watch_.look(files)) {
    // A range of a process that has died never ends, and without tracing there is no work.
    const bool is_over =
        incident.process == 0 ? active.empty() : std::ranges::count(active, incident.process) == 0;
    if (!traces_ || is_over) continue;
    const std::string where = files.size() > 1 ? " (" + file_name_of(file) + ")" : "";
    snapshots_.add_incident_of_a_job(incident.text + where, now);
  }
  for (const launch::Death& death : listener_.take_deaths()) {
    // It may be the last process, so the end of the run.
    if (files.empty() || (!death.abrupt && active.empty())) continue;
    snapshots_.add_incident(death.text, now + end_patience);
  }
}

void Control::note(const std::string& text) const {
  if (options_.note) options_.note(text);
}

std::uint64_t Control::bytes() {
  std::uint64_t sum = 0;
  for (const std::string& file : loading_.committed().files) {
    for (const char* suffix : {"", "-wal"}) {
      struct stat status {};
      if (stat((file + suffix).c_str(), &status) == 0) {
        sum += static_cast<std::uint64_t>(status.st_size);
      }
    }
  }
  return sum;
}

launch::Collectors::Asked Control::trace(bool on) {
  if (traces_ != on) since_ = Clock::now();
  // What was open when nothing was recorded may have ended.
  if (on && !traces_) watch_.begin_again();
  traces_ = on;
  return listener_.ask_targets(on, collector_patience);
}

// Of another launcher of this job. It is answered at once, and the snapshot is written afterwards.
wire::Fields Control::answer_peer(const wire::Fields& request, pid_t caller) {
  auto asked = peers_.parsed(request, caller);
  if (!asked) return {};
  const std::string refusal = !goes_on_ ? "its run is over"
                              : loading_.committed().files.empty()
                                  ? "nothing is recorded yet"
                                  : snapshots_.refusal(Clock::now());
  if (refusal.empty()) peers_request_ = std::move(asked);
  return peers_.answer(refusal);
}

wire::Fields Control::answer(const wire::Fields& request, pid_t caller) {
  const std::string_view what = request.text("do");
  wire::Fields answer;
  if (what.empty()) {
    if (is_meant(request)) answer.set("found", "1");
    return answer;
  }
  if (what == "status") return status();
  if (what == Peers::request_name) return answer_peer(request, caller);
  const bool switches = what == "start" || what == "stop";
  if (switches && !options_.why_not_switched.empty()) return refused(options_.why_not_switched);
  if (switches) {
    begins_.reset();  // the latest word counts
    if (what == "stop") ends_.reset();
    flush(answer, trace(what == "start"));
  } else if (what == "flush") {
    flush(answer, listener_.ask_targets(std::nullopt, collector_patience));
  } else {
    return refused("this gpuprof is older, and does not know " + std::string(what));
  }
  return answer;
}

bool Control::is_meant(const wire::Fields& request) {
  if (const std::int64_t process = request.integer("process", -1); process > 0) {
    return process == getpid() || listener_.is_active(process);
  }
  return std::ranges::count(loading_.committed().files, request.text("file")) > 0;
}

void Control::flush(wire::Fields& answer, launch::Collectors::Asked asked) {
  const bool whole = loading_.wait_until_committed(commit_patience);
  const auto [files, totals, frames, failed] = loading_.committed();
  answer.set("processes", static_cast<std::int64_t>(asked.all));
  answer.set("silent", static_cast<std::int64_t>(asked.silent));
  answer.set("files", joined(files, "\n"));
  answer.set("records", kept(totals));
  if (!whole) answer.set("late", failed ? "the file can no longer be written" : "the file is slow");
}

wire::Fields Control::status() {
  const auto [files, totals, frames, failed] = loading_.committed();
  const auto ms = std::chrono::duration_cast<milliseconds>(Clock::now() - since_).count();
  wire::Fields fields;
  fields.set("state", failed ? "failed" : traces_ ? "records" : begins_ ? "waits" : "stopped");
  fields.set("state_ms", static_cast<std::int64_t>(ms));
  fields.set("gpuprof", static_cast<std::int64_t>(getpid()));
  fields.set("processes", joined(listener_.active_processes(), " "));
  fields.set("trace", options_.recorded);
  if (const auto& group = peers_.group()) {
    fields.set("job", group->id);
    if (group->rank) fields.set("rank", *group->rank);
  }
  fields.set("files", joined(files, "\n"));
  fields.set("bytes", static_cast<std::int64_t>(bytes()));
  fields.set("records", kept(totals));
  fields.set("let_go", static_cast<std::int64_t>(totals.let_go));
  fields.set("missing", static_cast<std::int64_t>(totals.missing));
  fields.set("without_times", static_cast<std::int64_t>(totals.without_times));
  fields.set("uncounted", static_cast<std::int64_t>(totals.uncounted));
  return fields;
}

}  // namespace gpuprof::record
