#include "apps/gpuprof/run/attaching.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/run/host_samples.hpp"
#include "apps/gpuprof/run/late_recording.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/measured_runs.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "apps/gpuprof/run/pm_sampling.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "libprof/attach/attach.hpp"
#include "libprof/attach/folder_inside.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/launch/trusted_library.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/run_info.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds step{5};
constexpr std::chrono::seconds connecting_patience{10};  // once the collector is loaded
constexpr std::chrono::seconds starting_patience{60};    // for CUPTI, which waits for CUDA's locks
constexpr std::chrono::seconds leaving_patience{20};
constexpr milliseconds between_looks{200};  // for new processes of a tree

std::string in_ms(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(time.count()) / 1e6);
  return text;
}

// The libcupti that a process has loaded; empty: none.
std::string loaded_cupti(const attach::Process& process) {
  const std::vector<attach::Mapping> maps = process.maps();
  const attach::Mapping* const library = attach::find_file(
      maps, [](std::string_view name) { return name.starts_with("libcupti.so"); });
  return library ? library->path : "";
}

// Null: the processes see what we see, or cannot be attached to, for which attach_to() says why.
std::unique_ptr<attach::FolderInside> folder_inside(const Processes& processes,
                                                    const std::string& collector) {
  const attach::Process& first = *processes.front();
  try {
    first.check();
  } catch (const Error&) {
    return nullptr;
  }
  const auto sees = [&](const std::string& path) { return first.sees(path, path); };
  if (sees(collector) && sees(TemporaryFolder::place())) return nullptr;
  return std::make_unique<attach::FolderInside>(first);
}

// Also where that cannot be seen: attach_to() says why.
bool has_context(const attach::Process& process) {
  try {
    return process.has_context();
  } catch (const Error&) {
    return true;
  }
}

// What CUPTI counts is evaluated by the copy that counts it, here in gpuprof: the processes' own.
std::string common_cupti(const Processes& processes) {
  std::string common;
  for (const auto& process : processes) {
    const std::string its = loaded_cupti(*process);
    if (its.empty() || its == common) continue;
    if (!common.empty()) {
      throw Error("the processes have loaded different copies of CUPTI: " + printable(common) +
                      " and " + printable(its),
                  "attach with --metrics to one process at a time", ExitCode::no_metrics);
    }
    common = its;
  }
  if (common.empty()) return {};
  const launch::TrustedLibrary library = launch::trusted_library(common, {}, geteuid());
  if (library.path.empty()) {
    throw Error("no metrics: " + library.problem, "--cupti PATH names one to use instead",
                ExitCode::no_metrics);
  }
  return library.path;
}

std::unique_ptr<MetricSession> metrics_of(const Options& options, const Processes& processes,
                                          Log& log) {
  Options its = options;
  if (its.cupti.empty()) its.cupti = common_cupti(processes);
  its.application = attach::command_of(processes.front()->id());  // the counters are tried
  return prepare_metrics(its, log);
}

// The collectors that have connected, in this order.
class Connected {
 public:
  struct Collector {
    std::uint32_t stream = 0;
    std::int64_t process = 0;  // as it calls itself
    bool records = false;
  };

  // Any thread.
  void add(std::uint32_t stream, std::int64_t process) {
    const std::lock_guard lock(mutex_);
    all_.push_back({stream, process});
  }
  void set_records(std::uint32_t stream) {
    const std::lock_guard lock(mutex_);
    for (Collector& each : all_) each.records |= each.stream == stream;
  }
  std::vector<Collector> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;  // guards all_
  std::vector<Collector> all_;
};

// For the main thread only, which alone may trace.
class Attaching : LateRecording {
 public:
  Attaching(Options& options, Processes processes, std::optional<attach::Tree> tree,
            std::optional<milliseconds> time);

  // Returns the exit code.
  int record();

 private:
  launch::Listener::Options options_of_listener();
  // A process, and its collector once that has connected.
  struct Begun {
    const attach::Process* process;
    attach::Outcome outcome;
    std::optional<std::size_t> collector;  // in connected_
  };
  // false: nothing is recorded, as already reported.
  bool attach_to_all();
  // Attaches to these, one after the other, and waits for their collectors. false: none records.
  bool attach_to(const Processes& processes);
  std::optional<Begun> attach_to(const attach::Process& process);
  // Of a tree's processes: takes those out that have to wait for a context. Returns whether any do.
  bool put_off(Processes& processes);
  // Attaches to what has come to the tree, or has a context now.
  void look_for_others();
  // Throws gpuprof::Error, with the reason.
  void check(const attach::Process& process) const;
  // The path by which the processes see what has this path here.
  std::string seen(const std::string& path) const { return inside_ ? inside_->inside(path) : path; }
  // Paths of libcupti for the collectors.
  std::string cupti_candidates() const;
  bool given_up() const { return ends_.asked() > 0; }
  // Whether its collector may still answer.
  bool begins(const Begun& begun);
  bool records(const Begun& begun);
  void tell(const Begun& begun, bool answered);
  void wait_for_the_end();
  void leave();
  void print_end();
  // Waits while `goes_on`, but no longer than `patience`. false: it still goes on then.
  template <class GoesOn>
  static bool wait(std::chrono::milliseconds patience, GoesOn&& goes_on);

  const std::optional<milliseconds> time_;
  Processes processes_;  // those at the beginning
  const pid_t first_;    // of them
  const bool alone_;     // there is only one, and will be
  std::optional<attach::Tree> tree_;
  std::set<pid_t> met_;      // processes of the tree that were attached to, or cannot be
  std::set<pid_t> waiting_;  // those whose context was seen once
  steady_clock::time_point next_look_;
  const std::unique_ptr<attach::FolderInside> inside_;
  const std::string collector_;
  const std::unique_ptr<PmSampling> sampling_;  // null: none
  Connected connected_;
  std::optional<record::Run> run_;
  HostSamples host_samples_;
};

Attaching::Attaching(Options& options, Processes processes, std::optional<attach::Tree> tree,
                     std::optional<milliseconds> time)
    : LateRecording(options, processes.front()->id(),
                    [&](Log& log) { return metrics_of(options, processes, log); }),
      time_(time),
      processes_(std::move(processes)),
      first_(processes_.front()->id()),
      alone_(processes_.size() == 1 && !tree),
      tree_(std::move(tree)),
      inside_(folder_inside(processes_, common_.collector)),
      collector_(inside_ ? inside_->add(common_.collector) : common_.collector),
      sampling_(prepare_pm_sampling(options_, say_)) {
  common_.control = control_options(options_, selection_, say_);
}

// Its own copy may be in use by the program; ours is for a process without one.
std::string Attaching::cupti_candidates() const {
  if (metrics_) return metrics_->cupti();
  std::vector<std::string> candidates = collector_cupti_candidates(options_.cupti);
  const bool prefers_its_own = options_.cupti.empty();
  if (inside_ && !(prefers_its_own && !loaded_cupti(*processes_.front()).empty())) {
    const auto file = std::ranges::find_if(
        candidates, [](const std::string& path) { return std::filesystem::is_regular_file(path); });
    if (file != candidates.end()) *file = seen(inside_->add(*file));
  }
  if (prefers_its_own) candidates.insert(candidates.begin(), "mapped");
  return joined(candidates, "\n");
}

launch::Listener::Options Attaching::options_of_listener() {
  launch::Listener::Options listening = listener_options(selection_, cupti_candidates());
  listening.connected = [this](std::uint32_t stream, std::int64_t process, pid_t) {
    connected_.add(stream, process);
  };
  listening.attached = [this](std::uint32_t stream) { connected_.set_records(stream); };
  if (inside_) listening.folder = inside_->path();
  if (sampling_) sampling_->listen(listening);
  return listening;
}

template <class GoesOn>
bool Attaching::wait(std::chrono::milliseconds patience, GoesOn&& goes_on) {
  const auto until = steady_clock::now() + patience;
  while (goes_on()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

void Attaching::check(const attach::Process& process) const {
  process.check();
  for (const std::string& path : {collector_, folder_of(run_->socket_path())}) {
    if (process.sees(path, seen(path))) continue;
    process.refuse(inside_ ? "does not see the files of process " + std::to_string(first_)
                           : "does not see " + path + ": it is in a container",
                   "attach to it on its own");
  }
  if (!metrics_ || !options_.cupti.empty()) return;
  const std::string its = loaded_cupti(process);
  if (its.empty() || its == metrics_->cupti()) return;
  process.refuse("has loaded another copy of CUPTI, " + printable(its) +
                     ", than the one that evaluates the metrics",
                 "attach to it on its own");
}

// nullopt: it cannot be done, as already reported.
std::optional<Attaching::Begun> Attaching::attach_to(const attach::Process& process) {
  try {
    check(process);
    const std::size_t before = connected_.all().size();
    Begun begun{&process,
                attach::start_collector(process, seen(collector_), seen(run_->socket_path()),
                                        [this] { return given_up(); }),
                {}};
    const auto is_on_its_way = [&] {
      return !given_up() && connected_.all().size() == before && process.alive();
    };
    wait(connecting_patience, is_on_its_way);
    if (connected_.all().size() > before) begun.collector = before;
    return begun;
  } catch (const Error& error) {
    if (alone_) throw;
    log_.say(std::string(error.what()) + ", so it is not recorded" +
             (error.hint().empty() ? "" : "\n  " + error.hint()));
    return std::nullopt;
  }
}

bool Attaching::records(const Begun& begun) {
  return begun.collector && connected_.all()[*begun.collector].records;
}

bool Attaching::begins(const Begun& begun) {
  if (!begun.collector || !begun.process->alive() || records(begun)) return false;
  const std::vector<std::int64_t> active = run_->active_processes();
  return std::ranges::count(active, connected_.all()[*begun.collector].process) > 0;
}

bool Attaching::put_off(Processes& processes) {
  std::vector<pid_t> without;
  std::erase_if(processes, [&](const auto& process) {
    if (has_context(*process)) return false;
    without.push_back(process->id());
    return true;
  });
  if (without.empty() || options_.quiet) return !without.empty();
  const bool one = without.size() == 1;
  log_.say((one ? "process " : "processes ") + joined(without, ", ") +
           (one ? " has no context of CUDA yet, and is recorded once it has one"
                : " have no context of CUDA yet, and are recorded once they have one"));
  return true;
}

void Attaching::look_for_others() {
  if (!tree_ || steady_clock::now() < next_look_) return;
  next_look_ = steady_clock::now() + between_looks;
  tree_->look();
  const auto is_gone = [this](pid_t process) { return !tree_->processes().contains(process); };
  std::erase_if(met_, is_gone);
  std::erase_if(waiting_, is_gone);
  for (const pid_t number : tree_->processes()) {
    if (met_.contains(number)) continue;
    try {
      auto process = std::make_unique<attach::Process>(number);
      // At the second look the context is not being made any more.
      if (!process->has_context() || waiting_.insert(number).second) continue;
      met_.insert(number);
      Processes one;
      one.push_back(std::move(process));
      attach_to(one);
    } catch (const Error&) {
      continue;  // it has ended, or keeps to itself
    }
  }
}

bool Attaching::attach_to_all() {
  const bool others = tree_ && put_off(processes_);
  for (const auto& process : processes_) met_.insert(process->id());
  const bool some = attach_to(processes_);
  if (some && !options_.quiet) {
    log_.say(
        "CUDA was at work before: what was allocated, loaded, named or captured in graphs until "
        "now, and NVTX ranges of libraries that used NVTX, are not recorded (begun_late)");
  }
  return some || others;
}

bool Attaching::attach_to(const Processes& processes) {
  std::vector<Begun> all;
  for (const auto& process : processes) {
    if (given_up()) break;
    if (auto begun = attach_to(*process)) all.push_back(*begun);
  }
  const auto waits = [&] {
    return !given_up() &&
           std::ranges::any_of(all, [this](const Begun& each) { return begins(each); });
  };
  const bool answered = wait(starting_patience, waits);
  const bool some = std::ranges::any_of(all, [this](const Begun& each) { return records(each); });
  if (some) run_->begin();  // before it is said: gpuprof status finds the recording from then on
  for (const Begun& each : all) tell(each, answered);
  return some;
}

// What became of it; the reason why a collector has left is its own to say.
void Attaching::tell(const Begun& begun, bool answered) {
  const std::string who = "process " + std::to_string(begun.process->id());
  if (records(begun)) {
    if (options_.quiet) return;
    log_.say("attached to " + who + ": a thread of CUDA's was stopped for " +
             in_ms(begun.outcome.stopped) + " and away for " + in_ms(begun.outcome.away) +
             (time_ ? "" : "; Ctrl-C detaches"));
  } else if (!begun.process->alive()) {
    log_.say(who + " has ended");
  } else if ((!answered || !begun.collector) && !given_up()) {
    log_.say("the collector in " + who + " does not answer");
  }
}

void Attaching::wait_for_the_end() {
  const auto goes_on = [this] {
    look_for_others();
    const bool more = tree_ && !tree_->processes().empty();
    return ends_.asked() == 0 && (more || !run_->is_over());
  };
  wait(time_.value_or(milliseconds(std::chrono::hours(24 * 365 * 100))), goes_on);
}

void Attaching::leave() {
  if (run_->is_over()) return;
  wire::Fields request;
  request.set("leave", std::int64_t{1});
  for (const Connected::Collector& each : connected_.all()) run_->tell(each.stream, request);
  const int before = ends_.asked();
  const bool over =
      wait(leaving_patience, [&] { return !run_->is_over() && ends_.asked() == before; });
  if (!over) {
    log_.say("the collector in process " + joined(run_->active_processes(), ", ") +
             " does not answer; it leaves when gpuprof has ended");
  }
}

int Attaching::record() {
  if (metrics_) metrics_->begin_run(0);
  launch::Listener::Options listening = options_of_listener();
  host_samples_.begin(options_, listening, run_, log_);
  run_.emplace(common_, std::move(listening));
  begin(*run_, {});
  if (sampling_) sampling_->start(*run_, ends_);
  if (!attach_to_all()) {
    run_->stop_listening();
    host_samples_.stop();
    run_.reset();
    return ends_.asked() > 0 ? ends_.exit_code()
                             : static_cast<int>(ExitCode::application_not_found);
  }
  run_->begin();
  wait_for_the_end();
  leave();
  if (sampling_) sampling_->look_after();
  run_->stop_listening();
  host_samples_.stop();
  run_->push(record::end_of_run());
  whole_ = run_->end();
  finish(*run_);
  if (!options_.quiet) print_end();
  return exit_code();
}

void Attaching::print_end() {
  if (temporary_ || !options_.reports.chosen.empty()) {
    for (store::Loader* loader : recorder_.loaders()) {
      log_.report(loader->database(), prefix_of(first_));
    }
  }
  if (!temporary_) print_outcome(recorder_, log_, {.hang_after = options_.hang_after});
}

}  // namespace

int record_processes(Options& options, Processes processes, std::optional<attach::Tree> tree,
                     std::optional<milliseconds> time) {
  return Attaching(options, std::move(processes), std::move(tree), time).record();
}

}  // namespace gpuprof::app
