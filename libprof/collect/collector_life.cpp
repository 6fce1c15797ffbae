// Beginning and end of the collector: of the process, and of traces that a process makes of itself.
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/collect/collector.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/keep_errno.hpp"
#include "libprof/collect/process_facts.hpp"
#include "libprof/collect/second_client.hpp"
#include "libprof/collect/share/lookups.hpp"
#include "libprof/collect/share/stand_ins.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

constexpr char nvtx_variable[] = "NVTX_INJECTION64_PATH";
constexpr std::chrono::milliseconds exit_patience{5000};   // for the GPU, and then for the launcher
constexpr std::chrono::minutes leave_patience{1};          // for the GPU, in end() and ranges
constexpr std::chrono::milliseconds users_patience{1000};  // for callbacks that measure
// For captures into graphs that are under way when we attach, of which nobody tells us.
constexpr std::chrono::milliseconds capture_time{1000};

}  // namespace

// --- start

void Collector::start(const char* socket_path) noexcept {
  if (!socket_path || !*socket_path) return;
  const KeepErrno keep;
  try {
    const std::lock_guard lock(starting_);
    if (state_.load() != State::idle) return;
    state_.store(State::stopped);
    set_up(socket_path);
  } catch (...) {
    state_.store(State::stopped);
    channel_.shut();
  }
}

std::optional<std::string> Collector::begin(const char* socket_path) noexcept {
  const KeepErrno keep;
  try {
    return begin(socket_path, false);
  } catch (...) {
    return "there is no memory left";
  }
}

std::optional<std::string> Collector::why_not_now(bool attached) const {
  switch (state_.load()) {
    case State::running: return "gpuprof records this process already";
    case State::stopped:
      return "gpuprof cannot record this process any more: it was forked, or CUPTI failed in it";
    case State::resting:
      if (attached) return "this process records itself, with gpuprof.trace()";
      break;
    case State::idle:
    case State::leaving: break;
  }
  return std::nullopt;
}

std::optional<std::string> Collector::begin(const char* socket_path, bool attached) {
  const std::lock_guard lock(starting_);
  if (auto why_not = why_not_now(attached)) return why_not;
  if (!attached) traces_itself_ = true;
  attached_ = attached;
  leave_asked_ = false;
  look_for_driver();
  // Before anything is traced: these calls are ours.
  begun_late_ = subscription_.is_open() ? contexts_.any_seen() : contexts_.find_existing();
  try {
    if (set_up(socket_path)) return std::nullopt;
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  state_.store(subscription_.is_open() ? State::resting : State::idle);
  return why_not_;
}

bool Collector::set_up(const char* socket_path) {
  const std::int64_t began = clock_ns(CLOCK_MONOTONIC);
  auto config = stream_.greet(process_facts(), socket_path);
  if (!config) {
    why_not_ = "gpuprof does not answer";
    return false;
  }
  config_ = std::move(*config);
  if (!subscribe() || !make_buffers()) return false;
  tracing_.choose(config_);
  capture_.choose(config_);
  hw_trace_.choose(config_, contexts_.any_seen());
  prepare_metrics();
  prepare_context_collectors();
  prepare_memory_tracking();
  prepare_stacks();
  prepare_cpu_samples();
  prepare_nvtx();
  const bool measures = metrics_.there();
  const auto by_context = by_context_.use();
  const bool by_launch = by_context && by_context->by_launch();
  const bool modules = tracing_.wants(schema::Module::info.id);
  if (traces_itself_ && modules) keeps_modules_.store(true);
  nodes_.graph_ends();
  subscription_.want(
      {.launches = measures || by_context || memory_ || capture_.by_launches(),
       .modules = modules || memory_ || keeps_modules_,
       .module_ends = by_context || keeps_modules_,
       .graph_launches = tracing_.serial() || measures || by_context || capture_.by_launches(),
       .captures = measures || by_launch || (by_context && contexts_.any_seen()),
       .green_contexts = measures,
       .memory_calls = memory_ != nullptr,
       .graph_nodes = stacks_ != nullptr || uses_nccl_,
       .hw_trace = hw_trace_.listens()});
  subscription_.enable(contexts_.any_seen());
  send_definitions();
  {
    const std::lock_guard lock(attributes_);
    attributes_done_ = false;
    client_told_.store(false);
    untimed_told_ = false;
  }
  state_.store(State::running);
  if (modules && keeps_modules_) {
    modules_.tell_the_others(
        [this](const CUpti_ResourceData& module) { buffers_.add_module(module); });
  }
  if (attached_ && (measures || by_context)) std::this_thread::sleep_for(capture_time);
  if (memory_) memory_->begin(contexts_.all(), config_.integer("stacks", 0) != 0);
  if (const auto metrics = metrics_.use()) metrics->begin(contexts_.all());
  tracing_.begin();
  if (capture_.from_start()) tracing_.start();
  // After that: CUPTI 13.5 records no kernels in a context that is already being sampled.
  if (by_context) by_context->begin(contexts_.all());
  if (contexts_.any_seen()) buffers_.keep_device_names();
  spare_cupti(cupti_.library);
  if (tracing_.wants(schema::ExternalCorrelation::info.id)) receive_external_correlation();
  share_cupti();
  if (!std::exchange(handlers_, true)) {
    pthread_atfork(&before_fork, &after_fork, &forked);
    std::atexit(&exit_handler);
    std::at_quick_exit(&exit_handler);
  }
  thread_.start<&Collector::thread_main>(this);
  if (cpu_) cpu_->begin(std::chrono::nanoseconds(config_.integer("cpu_sample_ns", 0)));
  buffers_.costs().add(wire::Count::cost_start, clock_ns(CLOCK_MONOTONIC) - began);
  return true;
}

void Collector::end() noexcept {
  const KeepErrno keep;
  bool left = false;
  try {
    const std::lock_guard lock(starting_);
    if (!running()) return;
    const Costs::Scope timed(buffers_.costs(), wire::Count::cost_end);
    if (cpu_) cpu_->finish();
    if (memory_) memory_->finish();
    left = !metrics_.there() || metrics_.use()->leave();
    finish_driver_work(leave_patience);
    flush(0);
    if (const auto by_context = by_context_.use()) by_context->finish();
    const auto rest = [this] { subscription_.rest(keeps_modules_); };
    const bool only_traces = !metrics_.there() && !by_context_.there();
    only_traces ? tracing_.end_among_calls(rest) : tracing_.end();
    buffers_.nvtx().listen(nullptr);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    stream_.clock(wire::Clock::Moment::last, cupti_.cuptiGetTimestamp);
    say_goodbye();
    state_.store(State::resting);
    if (!only_traces) rest();
    modules_.trace_ends();
  } catch (...) {
    state_.store(State::stopped);
  }
  channel_.shut();  // which wakes our thread
  thread_.wait();
  if (tracker_) tracker_->stop();
  left ? metrics_.remove(users_patience) : metrics_.keep();
  by_context_.remove(users_patience, &ContextCollectors::held);
}

void Collector::say_goodbye() {
  send_statistics(true);
  // Without this the launcher waits for the process to end.
  stream_.tell("detached", "1");
  stream_.goodbye();
  buffers_.process_ends();
  buffers_.wait_until_sent(exit_patience);
  leave_second_clients_alone();
}

// --- attached to

void Collector::attach(const char* socket_path) noexcept {
  const KeepErrno keep;
  char* const path = socket_path ? strdup(socket_path) : nullptr;
  if (path && !start_thread(&attended, path)) std::free(path);
}

void* Collector::attended(void* path) noexcept {
  const std::unique_ptr<char, decltype(&std::free)> owned(static_cast<char*>(path), &std::free);
  try {
    instance().attend(owned.get());
  } catch (...) {
  }
  return nullptr;
}

void Collector::attend(const char* socket_path) {
  if (const auto why_not = why_not_now(true)) {
    // The channel is another launcher's.
    Channel channel;
    Stream stream(channel);
    if (stream.greet(process_facts(), socket_path)) stream.tell("error", *why_not);
    return;
  }
  if (begin(socket_path, true)) return;  // set_up() has told why not
  stream_.tell("attached", "1");
  thread_.wait();  // until the launcher asks us to leave, or is gone
  leave();
}

void Collector::leave() noexcept {
  try {
    const std::lock_guard lock(starting_);
    if (!running() || exiting_.load()) return;
    if (cpu_) cpu_->finish();
    // While their callbacks still come.
    if (memory_) memory_->finish();
    const bool left = !metrics_.there() || metrics_.use()->leave();
    if (const auto by_context = by_context_.use()) by_context->finish();
    state_.store(State::leaving);
    flush(0);  // the calls until now
    tracing_.end_among_calls([this] { subscription_.disable(); });
    deliver_what_runs();
    buffers_.nvtx().listen(nullptr);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    stream_.clock(wire::Clock::Moment::last, cupti_.cuptiGetTimestamp);
    // Not cuptiFinalize: where another thread launches a graph meanwhile, the GPU then writes to
    // memory that CUPTI has freed, and the program fails (measured: docs/measurements/history.md).
    buffers_.leave_cupti();
    subscription_.end();
    if (have_stand_ins()) {
      stop_serving_clients();
      sharing_.hand_over();
    }
    say_goodbye();
    channel_.shut();
    if (tracker_) tracker_->stop();
    left ? metrics_.remove(users_patience) : metrics_.keep();
    by_context_.remove(users_patience, &ContextCollectors::held);
    state_.store(State::idle);
    contexts_.forget();
    buffers_.release_memory();
    attached_.store(false);
  } catch (...) {
    state_.store(State::stopped);
    channel_.shut();
  }
}

// Waiting for the GPU would spoil a graph that another thread is capturing. So we flush until no
// more records come of what was launched before.
void Collector::deliver_what_runs() {
  constexpr std::chrono::milliseconds between{10};
  constexpr int quiet_flushes = 8, most_flushes = 100;
  std::uint64_t records = buffers_.records();
  for (int quiet = 0, all = 0; quiet < quiet_flushes && all < most_flushes; ++all) {
    std::this_thread::sleep_for(between);
    flush(0);
    const std::uint64_t now = buffers_.records();
    quiet = now == records ? quiet + 1 : 0;
    records = now;
  }
}

std::uint64_t Collector::begin_range(const char* name) noexcept {
  const KeepErrno keep;
  try {
    if (!running() || !metrics_.there()) return 0;
    finish_driver_work(leave_patience);
    if (const auto metrics = metrics_.use()) return metrics->begin_own_range(name);
  } catch (...) {
  }
  return 0;
}

void Collector::end_range() noexcept {
  const KeepErrno keep;
  try {
    if (!running()) return;
    finish_driver_work(leave_patience);
    if (const auto metrics = metrics_.use()) metrics->end_own_range();
  } catch (...) {
  }
}

bool Collector::subscribe() {
  if (subscription_.is_open()) return true;
  const auto refusal = subscription_.open(config_.text("cupti"), &called_back);
  if (!refusal) return true;
  if (refusal->second_client) {
    stream_.statistics(false, [] {
      return std::vector<wire::Statistic>{{"", "cupti_second_client", 1}};
    });
  }
  give_up(refusal->why);
  return false;
}

bool Collector::make_buffers() {
  const auto why_not = buffers_.create(config_, attached_, &buffer_requested, &buffer_completed);
  if (why_not) give_up(*why_not);
  return !why_not;
}

void Collector::prepare_metrics() {
  const std::string_view wanted = config_.text("metrics");
  if (wanted.empty()) return;
  auto config = wire::decode_collect_config(std::as_bytes(std::span(wanted)));
  if (!config) return;
  if (!cupti_.has_range_profiling()) {
    stream_.tell("metrics_error", cupti_.path + " has no range profiler; CUDA 12.6 has the first");
    return;
  }
  // Seen with 13.0, not with 13.5; older versions are assumed to behave the same.
  if (config->mode == wire::ReplayMode::kernel && cupti_.version < 130100) {
    stream_.tell(
        "warning",
        "kernels that CUPTI 13.0 or older replays have no times; --replay-mode application "
        "and newer versions have them (pip install -U nvidia-cuda-cupti)");
  }
  load_perfworks(cupti_);
  look_for_driver();
  tracing_.measured_beside(config->trace_serially);
  metrics_.put(std::make_unique<RangeProfiler>(
      cupti_, channel_, *config,
      [this](std::string_view what, std::string_view text) { stream_.tell(what, text); }));
  buffers_.leave_out_profiler();
}

void Collector::prepare_context_collectors() {
  auto wanted =
      ContextCollectors::wanted(config_, cupti_, channel_, sass_,
                                [this](std::string_view text) { stream_.tell("warning", text); });
  if (!wanted) return;
  look_for_driver();
  by_context_.put(std::move(wanted));
}

void Collector::prepare_memory_tracking() {
  memory_ = nullptr;
  if (config_.integer("track_memory", 0) == 0) return;
  if (!tracker_) {
    tracker_ = std::make_unique<MemoryTracker>(
        cupti_, channel_, [this] { buffers_.leave_out_this_thread(); },
        [this] { look_for_driver(); },
        [this](std::string_view text) { stream_.tell("warning", text); });
  }
  memory_ = tracker_.get();
}

void Collector::prepare_stacks() {
  tracks_stacks_.store(memory_ && config_.integer("stacks", 0) != 0);
  stacks_ = nullptr;
  tracing_.want_places(false);
  const auto threads = static_cast<wire::LaunchStacks>(config_.integer("launch_stacks", 0));
  const bool unasked = threads == wire::LaunchStacks::cheap;
  if (threads == wire::LaunchStacks::none || (unasked && !PythonInterpreter::is_there())) return;
  if (!launch_stacks_) launch_stacks_ = std::make_unique<LaunchStacks>(buffers_.slots());
  const std::string warning =
      launch_stacks_->begin(threads, config_.integer("native_stacks", 0) != 0);
  // Stacks of calls for memory say the same.
  if (!warning.empty() && !(unasked && tracks_stacks_)) stream_.tell("warning", warning);
  if (unasked && !launch_stacks_->reads_python()) return;
  stacks_ = launch_stacks_.get();
  tracing_.want_places(true);
}

void Collector::prepare_cpu_samples() {
  cpu_ = nullptr;
  if (config_.integer("cpu_sample_ns", 0) <= 0) return;
  if (!cpu_sampler_) {
    cpu_sampler_ = std::make_unique<CpuSampler>(
        CpuSampler::Host{.channel = channel_,
                         .costs = buffers_.costs(),
                         .loader = loader_,
                         .on_thread = [this] { buffers_.leave_out_this_thread(); },
                         .warn = [this](std::string_view text) { stream_.tell("warning", text); }});
  }
  cpu_ = cpu_sampler_.get();
}

void Collector::prepare_nvtx() {
  const auto metrics = metrics_.use();
  const bool measured = (metrics && metrics->wants_nvtx()) || capture_.by_ranges();
  static constexpr NvtxRecords::Listener listener{&nvtx_pushes, &nvtx_pops};
  buffers_.nvtx().listen(measured ? &listener : nullptr);
  nvtx_wanted_.store(measured || tracing_.wants(schema::Marker::info.id));
  if (!nvtx_wanted_) return;
  // NVTX has one injection.
  const std::string other = injection_besides_us(nvtx_variable);
  if (!other.empty()) {
    stream_.tell("warning", std::string(nvtx_variable) + " names another tool, " + other +
                                ", which gets the NVTX ranges; this profile has none");
  }
}

void Collector::send_definitions() {
  stream_.tell("cupti_path", cupti_.path);
  stream_.tell("cupti_version", std::to_string(cupti_.version));
  const Arena& arena = buffers_.arena();
  stream_.hand_over_arena(arena.slot_count(), arena.slot_size(), arena.file());
  stream_.define(wire_tables(cupti_.version));
  if (memory_) stream_.define(MemoryTracker::tables());
  if (stacks_) stream_.define(LaunchStacks::tables());
  if (cpu_) stream_.define(CpuSampler::tables());
  stream_.define(NcclOperations::tables());
  stream_.name_functions(api_names(cupti_));
  stream_.clock(wire::Clock::Moment::first, cupti_.cuptiGetTimestamp);
}

// From the first call on, even in a program with its own libcupti. Libraries loaded later are found
// by our thread.
void Collector::receive_external_correlation() {
  take_external_correlation(cupti_.cuptiActivityPushExternalCorrelationId,
                            cupti_.cuptiActivityPopExternalCorrelationId);
  look_for_second_clients();
}

// Not while metrics are measured or instructions are sampled, which needs CUPTI's callbacks alone.
void Collector::share_cupti() {
  if (config_.integer("share", 1) == 0 || metrics_.there() || by_context_.there()) return;
  serve_clients(sharing_, cupti_);
  look_before_lookups(&look_for_new_clients);
  look_for_second_clients();
}

// If NVTX came first, there was no driver yet to accept the callbacks: CUPTI 13.0 and 13.5 then
// deliver none (measured).
void Collector::driver_starts() noexcept {
  try {
    const std::lock_guard lock(starting_);
    if (!running() && !resting()) return;
    const Costs::Scope timed(buffers_.costs(), wire::Count::cost_start);
    subscription_.enable(true);
  } catch (...) {
  }
}

void Collector::give_up(const std::string& why) {
  why_not_ = why;
  state_.store(State::stopped);
  leave_second_clients_alone();
  stop_serving_clients();
  tracing_.end();
  subscription_.end();
  stream_.tell("error", why);
  channel_.shut();
}

// --- fork

// No thread of ours may hold the loader's lock while another one forks: the child would find it
// locked forever, and needs it, for example, to throw an exception.
void Collector::before_fork() noexcept { instance().loader_.lock(); }
void Collector::after_fork() noexcept { instance().loader_.unlock(); }

// CUDA does not survive a fork, and nothing of ours may touch what the parent still uses.
void Collector::forked() noexcept {
  Collector& self = instance();
  self.loader_.unlock();
  self.state_.store(State::stopped);
  if (self.cpu_) self.cpu_->forked();
  stop_serving_clients();
  self.channel_.abandon();
  self.buffers_.abandon();
}

// --- exit

void Collector::exit_handler() noexcept {
  try {
    instance().at_exit();
  } catch (...) {
  }
}

void Collector::at_exit() {
  if (resting()) return sass_.process_ends();
  // An attached launcher may be leaving at this moment.
  std::unique_lock lock(starting_, std::defer_lock);
  if (attached_.load() && !lock.try_lock_for(exit_patience)) return;
  if (!running()) return;
  const Costs::Scope timed(buffers_.costs(), wire::Count::cost_end);
  if (exiting_.exchange(true)) {
    if (memory_) memory_->finish();
    return flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  tracing_.process_ends();
  if (cpu_) cpu_->finish();
  if (memory_) memory_->finish();
  if (const auto metrics = metrics_.use()) metrics->finish();
  // CUPTI waits while the GPU is busy.
  if (finish_driver_work(exit_patience)) {
    if (const auto by_context = by_context_.use()) by_context->finish();
    sass_.process_ends();
  }
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  send_statistics(true);
  stream_.clock(wire::Clock::Moment::last, cupti_.cuptiGetTimestamp);
  stream_.goodbye();
  buffers_.process_ends();
  buffers_.wait_until_sent(exit_patience);
  // Keep running: destructors that run after us may make CUDA calls, and their records are handled
  // as before, through completed buffers or salvage.
}

// A target that ends without waiting for its last kernels would lose their records, and one that
// ends early the device attributes. Both require driver calls that must not be mistaken for the
// target's: so they are made on a thread of ours. The target did not ask for this wait, so no
// record of it is kept.
bool Collector::finish_driver_work(std::chrono::milliseconds patience) {
  bool idle = false;
  tracing_.leave_out(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, [this, &idle, patience] {
    idle = contexts_.synchronize(patience, [] {
      instance().buffers_.leave_out_this_thread();
      instance().record_device_attributes();
    });
  });
  return idle;
}

}  // namespace gpuprof::collect
