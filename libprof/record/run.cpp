#include "libprof/record/run.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "libprof/base/text.hpp"
#include "libprof/record/run_info.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t queue_bytes = std::size_t{128} << 20;
constexpr milliseconds sampler_patience{10'000};         // for the last samples to arrive
constexpr std::uint64_t much = std::uint64_t{64} << 20;  // bytes worth a progress report

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

std::string cut_off(std::size_t processes) {
  return std::to_string(processes) + (processes == 1 ? " process" : " processes") +
         " reached gpuprof and ended before anything was recorded";
}

Run::Run(Common& common, launch::Listener::Options listening)
    : common_(common),
      queue_(queue_bytes, common.folder),
      listener_(std::move(listening), queue_) {}

Run::~Run() {
  stop_listening();
  end();
}

void Run::begin() {
  if (!loading_) {
    loading_.emplace(common_.recorder, queue_, common_.ends, common_.conversion, common_.say);
    if (auto options = std::exchange(common_.control, std::nullopt)) {
      if (options->keeps_last) common_.target.leave_out(SIGUSR2);
      options->hurried = [this] { return common_.ends.hurried(); };
      control_.emplace(std::move(*options), listener_, *loading_, common_.say);
    }
  }
}

void Run::start(launch::Target::Output output) {
  std::vector<std::string> variables =
      launch::injection(common_.collector, listener_.socket_path(), common_.runtimes);
  if (!common_.store_command_lines) variables.emplace_back("GPUPROF_HIDE_COMMAND_LINE=1");
  begin();
  common_.ends.leave();
  common_.target.start(common_.command, variables, output);
}

bool Run::wait_for_a_process() {
  constexpr int step_ms = 20;
  while (listener_.seen() == 0) {
    if (common_.target.wait(step_ms)) return false;
  }
  return true;
}

void Run::wait_for_the_others() {
  // Counted in steps: time during which the machine was suspended does not count.
  constexpr milliseconds step{20};
  constexpr int quiet_steps = 2000 / 20;
  // A Ctrl-C that the program also received counts as the first of two.
  common_.ends.listen(common_.ended_by_user() ? 1 : 2);
  const int before = common_.ends.asked();
  listener_.settle();
  for (int steps = 0; listener_.active() > 0; ++steps) {
    if (common_.ends.asked() > before) return;
    std::this_thread::sleep_for(step);
    if (steps == quiet_steps && common_.waits) common_.waits(listener_.active_processes());
  }
}

void Run::stop_listening() {
  if (std::exchange(stopped_, true)) return;
  end_control();
  listener_.end_samplers();
  const auto until = steady_clock::now() + sampler_patience;
  while (listener_.samplers() > 0 && steady_clock::now() < until && !common_.ends.hurried()) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  listener_.stop(true);
  while (listener_.active() > 0) std::this_thread::sleep_for(milliseconds(1));
}

void Run::end_control() {
  if (!control_) return;
  const std::vector<std::string> incidents = control_->end();
  control_.reset();
  if (incidents.empty()) return;
  push(reason_of_run(joined(incidents, "; ")));
  for (const std::string& text : incidents) {
    common_.say(text + ": the run's file has what came before");
  }
}

bool Run::end(const std::function<void(int percent)>& progress) {
  if (std::exchange(ended_, true)) return true;
  stop_listening();
  queue_.close();
  if (!loading_) return true;
  const std::uint64_t all = queue_.counts().waiting_bytes;
  while (progress && all > much && !queue_.exhausted()) {
    const std::uint64_t left = std::min(queue_.counts().waiting_bytes, all);
    progress(static_cast<int>(100 - 100 * left / all));
    std::this_thread::sleep_for(milliseconds(200));
  }
  return loading_->finish();
}

void Run::count_losses() {
  Recorder& recorder = common_.recorder;
  const launch::FrameQueue::Counts counts = queue_.counts();
  if (counts.spilled_bytes) recorder.count("spilled_bytes", counts.spilled_bytes);
  if (counts.discarded_bytes) recorder.count("bytes_discarded", counts.discarded_bytes);
  if (counts.discarded_blocks) recorder.count("blocks_discarded", counts.discarded_blocks);
  if (const std::size_t lost = listener_.silent() + listener_.turned_away()) {
    recorder.count("not_profiled", lost);
    recorder.explain("not_profiled", cut_off(lost));
  }
  if (listener_.unaccounted()) recorder.count("stream_cut", listener_.unaccounted());
  rusage used{};
  if (listener_.seen() == 0 || getrusage(RUSAGE_SELF, &used) != 0) return;
  recorder.count("background_ns", ns_of(used.ru_utime) + ns_of(used.ru_stime));
  recorder.count("cost_bytes", static_cast<std::uint64_t>(used.ru_maxrss) << 10);
}

}  // namespace gpuprof::record
