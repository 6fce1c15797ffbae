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
constexpr milliseconds between_sizes{500};
constexpr milliseconds copy_patience{3'600'000};

wire::Fields refused(std::string_view why, std::string_view hint = {}) {
  wire::Fields fields;
  fields.set("error", why);
  fields.set("hint", hint);
  return fields;
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
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_ < 0) throw Error(std::string("no descriptor for control: ") + std::strerror(errno));
  const auto begin = since_ + options_.delay.value_or(milliseconds(0));
  if (options_.delay) begins_ = begin;
  if (options_.duration) ends_ = begin + *options_.duration;
  traces_ = !options_.delay;
  if (options_.copies_on_signal) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    signal_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  try {
    socket_.emplace(folder_of(listener.socket_path()));
  } catch (const Error& error) {
    say(error.what());
  }
  thread_ = std::thread([this] { run(); });
}

Control::~Control() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
  thread_.join();
  close(stop_);
  if (signal_ >= 0) close(signal_);
}

void Control::run() {
  while (true) {
    pollfd waiting[] = {{stop_, POLLIN, 0},
                        {socket_ ? socket_->descriptor() : -1, POLLIN, 0},
                        {signal_, POLLIN, 0}};
    if (poll(waiting, std::size(waiting), patience_ms()) < 0 && errno != EINTR) return;
    if (waiting[0].revents) return;
    try {
      look_at_the_clock();
      look_at_the_size();
      if (waiting[2].revents) look_at_the_signal();
      look_at_the_copies();
      if (waiting[1].revents) {
        socket_->serve([this](const wire::Fields& request) { return answer(request); });
      }
    } catch (const std::exception&) {
      // There was no memory for this request.
    }
  }
}

int Control::patience_ms() const {
  if (begins_ || ends_) {
    const auto next = std::min(begins_.value_or(Clock::time_point::max()),
                               ends_.value_or(Clock::time_point::max()));
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, between_sizes.count()));
  }
  return options_.most_bytes > 0 || !copies_.empty() ? static_cast<int>(between_sizes.count()) : -1;
}

void Control::look_at_the_clock() {
  const auto now = Clock::now();
  if (begins_ && now >= *begins_) {
    begins_.reset();
    trace(true);
  }
  if (ends_ && now >= *ends_) {
    ends_.reset();
    trace(false);
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
  const std::vector<std::string> files = loading_.committed().files;
  for (const std::string& file : files) copy(file);
  if (files.empty()) note("SIGUSR2: nothing is recorded yet");
}

// By a process of its own, which asks this thread to flush first.
void Control::copy(const std::string& file) {
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(time.data(), time.size(), "-%Y%m%d-%H%M%S", localtime_r(&now, &parts));
  const std::filesystem::path path(file);
  const std::string name =
      path.parent_path() / (path.stem().string() + time.data() + path.extension().string());
  try {
    copies_.push_back(
        {name, std::make_unique<HelperProcess>(
                   "/proc/self/exe", std::vector<std::string>{"snapshot", file, "-q", "-o", name},
                   std::vector<HelperProcess::File>{}, copy_patience)});
  } catch (const Error& error) {
    note(name + ": " + error.what());
  }
}

void Control::look_at_the_copies() {
  std::erase_if(copies_, [this](const Copy& copy) {
    if (copy.process->overdue()) copy.process->kill();
    if (!copy.process->ended()) return false;
    note(copy.process->succeeded() ? "wrote " + copy.name : copy.name + " could not be written");
    return true;
  });
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
  traces_ = on;
  return listener_.ask_targets(on, collector_patience);
}

wire::Fields Control::answer(const wire::Fields& request) {
  const std::string_view what = request.text("do");
  wire::Fields answer;
  if (what.empty()) {
    if (is_meant(request)) answer.set("found", "1");
    return answer;
  }
  if (what == "status") return status();
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
    return process == getpid() || std::ranges::count(listener_.active_processes(), process) > 0;
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
