#include "libprof/collect/collector.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "libprof/collect/driver.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "libprof/collect/keep_errno.hpp"
#include "libprof/collect/process_facts.hpp"
#include "libprof/collect/second_client.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds exit_patience{5000};  // for the GPU, and then for the launcher
constexpr std::chrono::minutes end_patience{1};           // for the GPU, of one who asked for it
// The first flushes follow one another quickly, so that a target that dies young leaves finished
// records: from 2 ms to the usual interval in the first two seconds of CUDA. While the driver is
// still starting there is little to flush.
constexpr int first_flush_ms = 2;
constexpr int starting_flush_ms = 20;
constexpr double flush_growth = 1.25;
// Clocks are read more often at first, so that short runs have some too.
constexpr std::chrono::milliseconds first_clocks_after{1000};
constexpr std::chrono::milliseconds most_between_clocks{10'000};

}  // namespace

Collector& Collector::instance() {
  alignas(Collector) static std::byte memory[sizeof(Collector)];
  static Collector* const collector = new (memory) Collector;
  return *collector;
}

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
    const std::lock_guard lock(starting_);
    switch (state_.load()) {
      case State::running: return "gpuprof records this process already";
      case State::stopped:
        return "gpuprof cannot record this process any more: it was forked, or CUPTI failed in it";
      case State::idle:
      case State::resting: break;
    }
    {
      const std::lock_guard loader(loader_);
      find_driver();
    }
    // Before anything is traced: these calls are ours.
    begun_late_ = subscription_.is_open() ? contexts_.any_seen() : contexts_.find_existing();
    try {
      if (set_up(socket_path)) return std::nullopt;
    } catch (const std::exception& error) {
      give_up(error.what());
    }
    state_.store(subscription_.is_open() ? State::resting : State::idle);
    return why_not_;
  } catch (...) {
    return "there is no memory left";
  }
}

bool Collector::set_up(const char* socket_path) {
  auto config = stream_.greet(process_facts(), socket_path);
  if (!config) {
    why_not_ = "gpuprof does not answer";
    return false;
  }
  config_ = std::move(*config);
  if (!subscribe() || !make_buffers()) return false;
  tracing_.choose(config_);
  prepare_metrics();
  prepare_pc_sampling();
  prepare_sass_metrics();
  subscription_.want({.modules = tracing_.wants(schema::Module::info.id),
                      .module_ends = !by_context_.empty(),
                      .graph_launches = tracing_.serial() || metrics_,
                      .captures = metrics_ != nullptr,
                      .nvtx_ranges = metrics_ && metrics_->wants_nvtx()});
  subscription_.enable(contexts_.any_seen());
  send_definitions();
  {
    const std::lock_guard lock(attributes_);
    attributes_done_ = false;
  }
  state_.store(State::running);
  tracing_.begin();
  if (contexts_.any_seen()) buffers_.keep_device_names();
  if (tracing_.wants(schema::ExternalCorrelation::info.id)) receive_external_correlation();
  if (!std::exchange(handlers_, true)) {
    pthread_atfork(&before_fork, &after_fork, &forked);
    std::atexit(&exit_handler);
    std::at_quick_exit(&exit_handler);
  }
  thread_runs_.store(true);
  if (!start_thread(&thread_entry, this)) thread_runs_.store(false);
  return true;
}

void Collector::end() noexcept {
  const KeepErrno keep;
  try {
    const std::lock_guard lock(starting_);
    if (!running()) return;
    finish_driver_work(end_patience);
    buffers_.flush(0);
    tracing_.end();
    buffers_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    send_statistics(true);
    stream_.clock(wire::Clock::Moment::last, cupti_.cuptiGetTimestamp);
    // Without this the launcher waits for the end of the process.
    stream_.tell("detached", "1");
    stream_.goodbye();
    buffers_.process_ends();
    buffers_.wait_until_sent(exit_patience);
    leave_second_clients_alone();
    state_.store(State::resting);
    subscription_.rest();
  } catch (...) {
    state_.store(State::stopped);
  }
  channel_.shut();  // which wakes our thread
  thread_runs_.wait(true);
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
  const auto why_not = buffers_.create(config_, &buffer_requested, &buffer_completed);
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
  load_perfworks(cupti_);
  tracing_.measured_beside(config->trace_serially);
  metrics_ = std::make_unique<RangeProfiler>(
      cupti_, channel_, *config,
      [this](std::string_view what, std::string_view text) { stream_.tell(what, text); });
  buffers_.leave_out_profiler();
}

void Collector::prepare_pc_sampling() {
  auto settings = PcSampler::wanted(config_);
  if (!settings) return;
  if (!cupti_.has_pc_sampling() || cupti_.version < PcSampler::first_version) {
    stream_.tell("warning", "no PC samples: " + cupti_.path +
                                " cannot take them beside tracing; the libcupti of CUDA 12.8 "
                                "Update 1 is the first that can");
    return;
  }
  load_perfworks(cupti_);
  auto sampler =
      std::make_unique<PcSampler>(cupti_, channel_, std::move(*settings),
                                  [this](std::string_view text) { stream_.tell("warning", text); });
  if (sampler->serialized()) serialized_sampler_ = sampler.get();
  by_context_.push_back(std::move(sampler));
}

void Collector::prepare_sass_metrics() {
  auto wanted = SassCounter::wanted(config_);
  if (!wanted) return;
  if (!cupti_.has_sass_metrics()) {
    return stream_.tell("warning", "no SASS metrics: " + cupti_.path + " has none");
  }
  load_perfworks(cupti_);
  // Beside CONCURRENT_KERNEL nothing is counted, and CUPTI does not say so (13.5, H200).
  tracing_.measured_beside(true);
  by_context_.push_back(std::make_unique<SassCounter>(
      cupti_, channel_, std::move(*wanted), [this] { tracing_.leave_kernels_out(); },
      [this](std::string_view text) { stream_.tell("warning", text); }));
}

void Collector::send_definitions() {
  stream_.tell("cupti_path", cupti_.path);
  stream_.tell("cupti_version", std::to_string(cupti_.version));
  const Arena& arena = buffers_.arena();
  stream_.hand_over_arena(arena.slot_count(), arena.slot_size(), arena.file());
  stream_.define(wire_tables(cupti_.version));
  stream_.name_functions(api_names(cupti_));
  stream_.clock(wire::Clock::Moment::first, cupti_.cuptiGetTimestamp);
}

// From the first call on, also of a program that has its own libcupti. Libraries that come later
// are found by our thread.
void Collector::receive_external_correlation() {
  take_external_correlation(cupti_.cuptiActivityPushExternalCorrelationId,
                            cupti_.cuptiActivityPopExternalCorrelationId);
  look_for_second_clients();
}

// When NVTX came first, there was no driver yet to take the callbacks: CUPTI 13.0 and 13.5 then
// deliver none (measured).
void Collector::driver_starts() noexcept {
  try {
    const std::lock_guard lock(starting_);
    if (running() || resting()) subscription_.enable(true);
  } catch (...) {
  }
}

void Collector::give_up(const std::string& why) {
  why_not_ = why;
  state_.store(State::stopped);
  leave_second_clients_alone();
  tracing_.end();
  subscription_.end();
  stream_.tell("error", why);
  channel_.shut();
}

// --- buffers

void Collector::buffer_requested(std::uint8_t** buffer, std::size_t* size,
                                 std::size_t* max_records) noexcept {
  Buffers& buffers = instance().buffers_;
  *max_records = 0;
  *buffer = reinterpret_cast<std::uint8_t*>(buffers.lend());
  *size = *buffer ? buffers.arena().slot_size() : 0;
}

void Collector::buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                 std::size_t used) noexcept {
  const KeepErrno keep;
  try {
    Collector& self = instance();
    if (!buffer) return;
    if (self.running()) {
      self.buffers_.completed(reinterpret_cast<std::byte*>(buffer), used);
    } else if (self.resting()) {
      self.buffers_.unwanted(reinterpret_cast<std::byte*>(buffer), used);
    }
  } catch (...) {
    // Out of memory while packing: the slot stays ours, and salvage finds it.
  }
}

// --- callbacks

void Collector::called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void* data) noexcept {
  Collector& self = instance();
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id != CUPTI_DRIVER_TRACE_CBID_cuProfilerStart &&
        id != CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
      return self.on_launch(id, *static_cast<const CUpti_CallbackData*>(data));
    }
    const KeepErrno keep;
    if (self.running()) return self.on_callback(domain, id, data);
    if (self.resting() && domain == CUPTI_CB_DOMAIN_RESOURCE) {
      self.note_context(id, static_cast<const CUpti_ResourceData*>(data)->context);
    }
  } catch (...) {
  }
}

// On the target's hot path: nothing else may stand here.
void Collector::on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (!running()) return;
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (enters && call.symbolName) buffers_.note_launch(call.symbolName, call.correlationId);
  if (!metrics_ && !tracing_.serial() && !serialized_sampler_) return;
  const KeepErrno keep;
  if (metrics_) metrics_->driver_call(id, call);
  if (tracing_.serial() && is_graph_launch(id)) {
    tracing_.graph_launch(enters, metrics_ && metrics_->measures_a_range());
  }
  if (serialized_sampler_ && !enters) serialized_sampler_->launch_ended(call.context);
}

void Collector::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_RESOURCE:
      return on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return on_profiler_call(id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                              *static_cast<const CUpti_CallbackData*>(data));
    case CUPTI_CB_DOMAIN_NVTX:
      if (metrics_) metrics_->nvtx_call(id, *static_cast<const CUpti_NvtxData*>(data));
      return;
    case CUPTI_CB_DOMAIN_STATE:
      // CUPTI has taken itself down. What it had written is in the arena; nothing more will come.
      buffers_.count(wire::Count::cupti_errors);
      return stream_.tell("error",
                          "CUPTI stopped by itself after an error; the program runs on unprofiled");
    default: return;
  }
}

void Collector::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      note_context(id, resource.context);
      if (metrics_) metrics_->context_created(resource.context);
      for (const auto& each : by_context_) each->context_created(resource.context);
      buffers_.keep_device_names();
      return tracing_.driver_is_up();
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      if (metrics_) metrics_->context_ends(resource.context);
      for (const auto& each : by_context_) each->context_ends(resource.context);
      return note_context(id, resource.context);
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      for (const auto& each : by_context_) each->module_begins(resource.context);
      return buffers_.add_module(resource);
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      for (const auto& each : by_context_) each->module_ends(resource.context);
      return;
    default: return;
  }
}

void Collector::note_context(CUpti_CallbackId id, CUcontext context) {
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) return contexts_.destroyed(context);
  if (id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED) return;
  // What was registered last runs first: before the driver takes itself down, also when NVTX had us
  // registered before the driver was there.
  if (!contexts_.any_seen()) std::atexit(&exit_handler);
  contexts_.created(context);
}

void Collector::on_profiler_call(bool starts, const CUpti_CallbackData& call) {
  // What lies between the two is collected, and not they themselves.
  if (starts != (call.callbackSite == CUPTI_API_EXIT)) return;
  if (metrics_) metrics_->profiler_window(starts);
  starts ? tracing_.start() : tracing_.stop();
}

// --- the own thread

void* Collector::thread_entry(void* argument) noexcept {
  auto& self = *static_cast<Collector*>(argument);
  try {
    self.thread_main();
  } catch (...) {
  }
  self.thread_runs_.store(false);
  self.thread_runs_.notify_all();
  return nullptr;
}

void Collector::thread_main() {
  buffers_.leave_out_this_thread();
  const auto flush_ms =
      static_cast<double>(std::clamp<std::int64_t>(config_.integer("flush_ms", 500), 1, 60'000));
  double wait_ms = first_flush_ms;
  bool driver_up = false;
  auto clocks_every = first_clocks_after;
  auto next_clocks = Clock::now() + clocks_every;
  while (running() && channel_.alive()) {
    if (listen(static_cast<int>(wait_ms))) continue;
    if (!running()) break;
    look_for_second_clients();
    if (metrics_) metrics_->watch();
    wait_ms = std::min<double>(wait_ms * flush_growth, driver_up ? flush_ms : starting_flush_ms);
    // Buffers that wait for the launcher are to be full ones.
    if (channel_.stalled()) continue;
    buffers_.flush(0);
    for (const auto& each : by_context_) each->watch();
    if (!driver_up && contexts_.any_seen()) {
      driver_up = true;
      wait_ms = first_flush_ms;
      record_device_attributes();
    }
    send_statistics(false);
    if (Clock::now() < next_clocks) continue;
    stream_.clock(wire::Clock::Moment::meanwhile, cupti_.cuptiGetTimestamp);
    clocks_every = std::min(2 * clocks_every, most_between_clocks);
    next_clocks = Clock::now() + clocks_every;
  }
}

bool Collector::listen(int timeout_ms) {
  if (channel_.stalled()) {
    const bool some = channel_.wait_to_send(timeout_ms);
    if (some) buffers_.resume();
    return some;
  }
  if (metrics_) return metrics_->listen(timeout_ms);
  wire::Frame frame;
  if (!channel_.receive(frame, timeout_ms)) return false;
  const auto late = stream_.late_answer(frame);
  if (late && !late->text("metrics").empty()) {
    stream_.tell("metrics_error", "gpuprof stood still when the process started");
  }
  return true;
}

void Collector::look_for_second_clients() {
  const std::lock_guard lock(loader_);
  watch_for_second_clients(&second_client);
}

void Collector::second_client(const char* library) noexcept {
  Collector& self = instance();
  static std::atomic<bool> told{false};
  self.buffers_.count(wire::Count::clients_turned_away);
  if (told.exchange(true)) return;
  try {
    self.stream_.tell("warning", std::string(library) +
                                     " asked for CUPTI, which only one profiler can have: gpuprof "
                                     "keeps it, that one gets no GPU records, the program runs on");
  } catch (...) {
  }
}

// CUPTI declares DEVICE_ATTRIBUTE and delivers none. Done once; whoever comes second waits.
void Collector::record_device_attributes() {
  {
    const std::lock_guard lock(loader_);
    find_driver();
  }
  const std::lock_guard once(attributes_);
  if (std::exchange(attributes_done_, true)) return;
  if (const int version = driver_version()) {
    stream_.tell("driver_version", std::to_string(version));
  }
  if (tracing_.wants(schema::DeviceAttribute::info.id)) buffers_.add(device_attributes());
}

void Collector::send_statistics(bool last) {
  cupti_.tell_unexpected(stream_);
  stream_.statistics(last, [this] {
    std::vector<wire::Statistic> all = buffers_.statistics();
    if (begun_late_) all.push_back({"", "begun_late", 1});
    if (metrics_) std::ranges::move(metrics_->statistics(), std::back_inserter(all));
    for (const auto& each : by_context_) {
      std::ranges::move(each->statistics(), std::back_inserter(all));
    }
    return all;
  });
}

// --- fork

// The loader's lock must not be held by a thread of ours while another forks: the child would find
// it locked for ever, and needs it to throw an exception, say.
void Collector::before_fork() noexcept { instance().loader_.lock(); }
void Collector::after_fork() noexcept { instance().loader_.unlock(); }

// CUDA does not survive a fork, and nothing of ours may touch what the parent still uses.
void Collector::forked() noexcept {
  Collector& self = instance();
  self.loader_.unlock();
  self.state_.store(State::stopped);
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
  if (!running()) return;
  if (exiting_.exchange(true)) return buffers_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  tracing_.process_ends();
  if (metrics_) metrics_->finish();
  // CUPTI waits for a GPU that is at work.
  if (finish_driver_work(exit_patience)) {
    for (const auto& each : by_context_) each->finish();
  }
  buffers_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  send_statistics(true);
  stream_.clock(wire::Clock::Moment::last, cupti_.cuptiGetTimestamp);
  stream_.goodbye();
  buffers_.process_ends();
  buffers_.wait_until_sent(exit_patience);
  // Still running: destructors that come after us may make CUDA calls, and their records are taken
  // as before, by completed buffers or by salvage.
}

// A target that ends without waiting for its last kernels would lose their records, and one that
// ends early the device attributes. Both need calls to the driver, which must not be taken for the
// target's: so they are made on a thread of ours. The target did not ask for this wait: no record
// of it.
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
