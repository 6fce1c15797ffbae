#include "libprof/collect/collector.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/collect/cubin.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/second_client.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::uint32_t default_slots = 256;
constexpr std::size_t default_slot_bytes = 1 << 20;
// What the launcher answers within is microseconds. When it stands still, the target does not.
constexpr int answer_patience_ms = 1000;
constexpr std::chrono::milliseconds exit_patience{5000};  // for the GPU, and then for the launcher
// The first flushes follow one another quickly, so that a target that dies young leaves finished
// records: from 2 ms to the usual interval in the first two seconds of CUDA. While the driver is
// still starting there is little to flush.
constexpr int first_flush_ms = 2;
constexpr int starting_flush_ms = 20;
constexpr double flush_growth = 1.25;

// Runtime launches go through these too.
constexpr CUpti_CallbackId driver_launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::string file_text(const char* path) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  char piece[4096];
  ssize_t got;
  while (file >= 0 && (got = read(file, piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  if (file >= 0) close(file);
  return text;
}

std::string executable() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string command_line() {
  const std::string arguments = file_text("/proc/self/cmdline");  // each ends with a zero
  std::vector<std::string> words;
  for (std::size_t at = 0; at < arguments.size(); at += words.back().size() + 1) {
    words.emplace_back(arguments.c_str() + at);
  }
  return shell_line(words);
}

// What tells processes of one command apart, run after run.
std::string rank() {
  std::string text;
  for (const char* name : {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                           "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = secure_getenv(name)) text += std::string(name) + "=" + value + " ";
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// What the launcher has written down for all collectors, beside its socket.
std::optional<wire::Fields> written_config(const std::string& socket_path) {
  const std::string folder = socket_path.substr(0, socket_path.rfind('/') + 1);
  const std::string text = file_text((folder + std::string(wire::config_file)).c_str());
  wire::Decoder decoder(std::as_bytes(std::span(text)));
  wire::Fields config = decoder.fields();
  if (text.empty() || !decoder.ok()) return std::nullopt;
  return config;
}

std::uint32_t thread_id() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

}  // namespace

// The target's errno is not ours to change.
class KeepErrno {
 public:
  KeepErrno() : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int kept_;
};

// What CUPTI and libc call. Nothing may leave these by exception.
struct Callbacks {
  static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size,
                                 std::size_t* max_records) noexcept {
    Collector& self = Collector::instance();
    *max_records = 0;
    *size = 0;
    *buffer = reinterpret_cast<std::uint8_t*>(self.arena_.lend());
    if (*buffer) {
      *size = self.arena_.slot_size();
    } else {
      self.count(wire::Count::slots_exhausted);
    }
  }

  static void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                 std::size_t used) noexcept {
    const KeepErrno keep;
    try {
      Collector::instance().on_completed(buffer, used);
    } catch (...) {
      // Out of memory while packing: the slot stays ours, and salvage finds it.
    }
  }

  static void CUPTIAPI event(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void* data) noexcept {
    Collector& self = Collector::instance();
    try {
      if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id != CUPTI_DRIVER_TRACE_CBID_cuProfilerStart &&
          id != CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
        // A launch. On the target's hot path: nothing else may stand here.
        const auto& call = *static_cast<const CUpti_CallbackData*>(data);
        if (call.callbackSite == CUPTI_API_ENTER && call.symbolName && self.running()) {
          self.launch_names_->note(call.symbolName, call.correlationId);
        }
        if ((self.metrics_ || self.serial_) && self.running()) {
          const KeepErrno keep;
          if (self.metrics_) self.metrics_->driver_call(id, call);
          if (self.serial_ && is_graph_launch(id)) {
            self.trace_graph_launch(call.callbackSite == CUPTI_API_ENTER);
          }
        }
        return;
      }
      const KeepErrno keep;
      self.on_callback(domain, id, data);
    } catch (...) {
    }
  }

  static void at_exit() noexcept {
    try {
      Collector::instance().at_exit();
    } catch (...) {
    }
  }

  static void second_client(const char* library) noexcept {
    Collector& self = Collector::instance();
    static std::atomic<bool> told{false};
    self.count(wire::Count::clients_turned_away);
    if (told.exchange(true)) return;
    try {
      self.tell("warning", std::string(library) +
                               " asked for CUPTI, which only one profiler can have: gpuprof keeps "
                               "it, that one gets no GPU records, the program runs on");
    } catch (...) {
    }
  }

  // The loader's lock must not be held by a thread of ours while another forks: the child would
  // find it locked for ever, and needs it to throw an exception, say.
  static void before_fork() noexcept { Collector::instance().loader_.lock(); }
  static void after_fork() noexcept { Collector::instance().loader_.unlock(); }

  // CUDA does not survive a fork, and nothing of ours may touch what the parent still uses.
  static void forked() noexcept {
    Collector& self = Collector::instance();
    self.loader_.unlock();
    self.state_.store(Collector::State::stopped);
    self.channel_.abandon();
    self.arena_.abandon();
  }
};

Collector& Collector::instance() {
  alignas(Collector) static std::byte memory[sizeof(Collector)];
  static Collector* const collector = new (memory) Collector;
  return *collector;
}

void Collector::start(const char* socket_path) noexcept {
  if (!socket_path || !*socket_path) return;
  const KeepErrno keep;
  try {
    const std::lock_guard lock(starting_);
    if (state_.load() != State::idle) return;
    state_.store(State::stopped);
    if (!greet(socket_path)) return;
    if (!load_cupti() || !subscribe()) return;
    send_definitions();
    state_.store(State::running);
    if (!enable_all()) return;
    if (wants(schema::ExternalCorrelation::info.id)) receive_external_correlation();
    pthread_atfork(&Callbacks::before_fork, &Callbacks::after_fork, &Callbacks::forked);
    std::atexit(&Callbacks::at_exit);
    std::at_quick_exit(&Callbacks::at_exit);
    start_thread(&Collector::thread_entry, this);
  } catch (...) {
    state_.store(State::stopped);
    channel_.shut();
  }
}

bool Collector::greet(const char* socket_path) {
  if (!channel_.connect(socket_path)) return false;
  wire::Fields fields;
  fields.set("process_id", static_cast<std::int64_t>(getpid()));
  fields.set("parent_process_id", static_cast<std::int64_t>(getppid()));
  fields.set("executable", executable());
  // Before there is an answer that could say so.
  if (!secure_getenv("GPUPROF_NO_COMMAND_LINE")) fields.set("command_line", command_line());
  fields.set("rank", rank());
  wire::Encoder hello;
  hello.integer(wire::version).fields(fields);
  wire::Frame frame;
  if (channel_.send(wire::FrameType::hello, hello) == Channel::Sent::refused) return false;
  std::optional<wire::Fields> config;
  if (channel_.receive(frame, answer_patience_ms)) {
    if (frame.type == wire::FrameType::config) config = wire::Decoder(frame.payload()).fields();
  } else if (channel_.alive()) {
    config = written_config(socket_path);
    answer_is_due_ = true;
  }
  if (!config) {
    channel_.shut();
    return false;
  }
  config_ = std::move(*config);
  flush_ms_ =
      static_cast<int>(std::clamp<std::int64_t>(config_.integer("flush_ms", 500), 1, 60'000));
  for (const std::uint32_t kind : config_.numbers("kinds")) {
    kinds_.push_back(static_cast<int>(kind));
  }
  return true;
}

bool Collector::load_cupti() {
  std::vector<std::string> candidates;
  for (std::string& candidate : split(config_.text("cupti"), '\n')) {
    if (candidate == "mapped") candidate = cupti::mapped_copy();
    if (!candidate.empty()) candidates.push_back(std::move(candidate));
  }
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string reason;
    if (cupti::open(candidate.c_str(), cupti_, reason)) {
      // Subscribing tells whether the driver takes this copy; only the last word counts.
      const CUptiResult result = cupti_.cuptiSubscribe(&subscriber_, &Callbacks::event, nullptr);
      if (result == CUPTI_SUCCESS) return true;
      const char* text = "";
      cupti_.cuptiGetResultString(result, &text);
      reason = cupti_.path + ": " + text;
      if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        wire::Encoder statistics;
        wire::encode(statistics, std::vector<wire::Statistic>{{"", "cupti_second_client", 1}});
        channel_.send(wire::FrameType::statistics, statistics);
        give_up("another profiler (" + std::string(text) +
                ") uses CUPTI in this process and only one can; run it without that one");
        return false;
      }
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  if (!driver_found()) {
    give_up(no_driver_library);
  } else {
    give_up("no usable libcupti: " + (reasons.empty() ? "none was named" : reasons) +
            " (choose one with --cupti PATH)");
  }
  return false;
}

bool Collector::subscribe() {
  const auto slots = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(config_.integer("slots", default_slots), 4, 1 << 16));
  const auto slot_bytes = static_cast<std::size_t>(std::clamp<std::int64_t>(
      config_.integer("slot_bytes", default_slot_bytes), 1 << 16, 1 << 26));
  if (!arena_.create(slots, slot_bytes)) {
    give_up(std::string("no shared memory for activity buffers: ") + std::strerror(errno));
    return false;
  }
  strings_ = std::make_unique<LiveStrings>(arena_);
  packer_ = std::make_unique<Packer>(cupti_.version, *strings_, Packer::Records::live);
  packer_->leave_out_threads(arena_);
  delivery_ =
      std::make_unique<Delivery>(arena_, channel_, *packer_, cupti_.cuptiActivityGetNextRecord);
  launch_names_ = std::make_unique<LaunchNames>(arena_);
  payload_schemas_ =
      std::make_unique<PayloadSchemas>(cupti_, [this](const wire::PayloadSchema& schema) {
        wire::Encoder encoder;
        encode(encoder, schema);
        channel_.send(wire::FrameType::payload_schema, encoder);
      });
  packer_->on_payload([this](std::uint32_t domain, std::uint64_t schema) {
    payload_schemas_->seen(domain, schema);
  });

  if (cupti_.cuptiActivitySetAttribute) {
    // Slots are zeroed by us, after packing, so CUPTI need not do it in the target's threads. Where
    // the attribute is unknown CUPTI zeroes them once more, and nothing else changes.
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    cupti_.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
                                     &zeroed);
  }
  if (cupti_.cuptiSetThreadIdType) {
    // The kernel's thread ids, which top, gdb and logs show. Not settable: pthread's.
    cupti_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  if (!check(cupti_.cuptiActivityRegisterCallbacks(&Callbacks::requested, &Callbacks::completed),
             "cuptiActivityRegisterCallbacks")) {
    return false;
  }

  choose_details();
  serial_ = wants(schema::Kernel::info.id);
  packer_->want(schema::Kernel::info.id, serial_);
  packer_->want(schema::ConcurrentKernel::info.id, wants(schema::ConcurrentKernel::info.id));
  prepare_metrics();
  enable_callbacks();
  return true;
}

// From the first call on, also of a program that has its own libcupti. Libraries that come later
// are found by our thread.
void Collector::receive_external_correlation() {
  take_external_correlation(cupti_.cuptiActivityPushExternalCorrelationId,
                            cupti_.cuptiActivityPopExternalCorrelationId);
  const std::lock_guard lock(loader_);
  watch_for_second_clients(&Callbacks::second_client);
}

// What CUPTI adds to records when it is told before the driver is up.
void Collector::choose_details() {
  const auto choose = [&](bool wanted, auto function, const char* what) {
    if (!wanted) return;
    if (!function) return tell("warning", std::string(what) + ": this libcupti is too old");
    const CUptiResult result = function(1);
    if (result == CUPTI_SUCCESS) return;
    const char* text = "";
    cupti_.cuptiGetResultString(result, &text);
    tell("warning", std::string(what) + ": " + text);
  };
  choose(config_.integer("latency_timestamps", 0), cupti_.cuptiActivityEnableLatencyTimestamps,
         "no times of queueing and submitting kernels");
  choose(config_.integer("allocation_source", 0), cupti_.cuptiActivityEnableAllocationSource,
         "no libraries that allocate");
  // A version without these has no such column or rows, as the documentation says.
  choose(wants(schema::CudaEvent::info.id) && cupti_.cuptiActivityEnableCudaEventDeviceTimestamps,
         cupti_.cuptiActivityEnableCudaEventDeviceTimestamps, "no times of events on the GPU");
  choose(wants(schema::GraphTrace::info.id) && cupti_.cuptiActivityEnableDeviceGraph,
         cupti_.cuptiActivityEnableDeviceGraph, "no graphs launched by kernels");
}

void Collector::prepare_metrics() {
  const std::string_view wanted = config_.text("metrics");
  if (wanted.empty()) return;
  auto config = wire::decode_collect_config(std::as_bytes(std::span(wanted)));
  if (!config) return;
  if (!cupti_.has_range_profiling()) {
    tell("metrics_error", cupti_.path + " has no range profiler; CUDA 12.6 has the first");
    return;
  }
  load_perfworks(cupti_);
  serial_ |= config->trace_serially && wants(schema::ConcurrentKernel::info.id);
  metrics_ = std::make_unique<RangeProfiler>(
      cupti_, channel_, std::move(*config),
      [this](std::string_view what, std::string_view text) { tell(what, text); });
  packer_->leave_out_profiler();
}

void Collector::enable_callbacks() {
  const auto enable_callback = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    // Off first: what CUPTI takes for on already it would not pass on to the driver.
    cupti_.cuptiEnableCallback(0, subscriber_, domain, id);
    cupti_.cuptiEnableCallback(1, subscriber_, domain, id);
  };
  // Contexts: to synchronise at exit, and to know when the driver is up.
  enable_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  enable_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  if (wants(schema::Module::info.id)) {
    enable_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  }
  enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  for (const CUpti_CallbackId launch : driver_launches) {
    enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, launch);
  }
  if (serial_ || metrics_) {
    for (const CUpti_CallbackId launch : graph_launches) {
      enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, launch);
    }
  }
  if (metrics_) {
    for (const CUpti_CallbackId call : RangeProfiler::capture_calls()) {
      enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, call);
    }
  }
  if (metrics_ && metrics_->wants_nvtx()) {
    for (const CUpti_CallbackId call : RangeProfiler::nvtx_calls()) {
      enable_callback(CUPTI_CB_DOMAIN_NVTX, call);
    }
  }
  // CUPTI's last word when it gives up by itself. Older versions have no such domain.
  enable_callback(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
}

// When NVTX came first, there was no driver yet to take the callbacks: CUPTI 13.0 and 13.5 then
// deliver none (measured).
void Collector::driver_starts() noexcept {
  try {
    const std::lock_guard lock(starting_);
    if (running()) enable_callbacks();
  } catch (...) {
  }
}

void Collector::send_definitions() {
  tell("cupti_path", cupti_.path);
  tell("cupti_version", std::to_string(cupti_.version));

  wire::Fields arena_fields;
  arena_fields.set("slots", static_cast<std::int64_t>(arena_.slot_count()));
  arena_fields.set("slot_bytes", static_cast<std::int64_t>(arena_.slot_size()));
  wire::Encoder arena;
  arena.fields(arena_fields);
  channel_.send_with_file(wire::FrameType::arena, arena, arena_.file());

  for (const wire::WireTable& table : wire_tables(cupti_.version)) {
    wire::Encoder definition;
    encode(definition, table);
    channel_.send(wire::FrameType::table, definition);
  }
  send_api_names();
  send_clock(wire::Clock::Moment::first);
}

void Collector::send_api_names() {
  std::vector<wire::ApiName> names;
  const auto add_names = [&](CUpti_CallbackDomain domain, const char* text, std::uint32_t size) {
    for (std::uint32_t id = 1; id < size && cupti_.cuptiGetCallbackName; ++id) {
      const char* name = nullptr;
      if (cupti_.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) continue;
      names.push_back({text, id, name});
    }
  };
  add_names(CUPTI_CB_DOMAIN_RUNTIME_API, "runtime",
            CUPTI_RUNTIME_TRACE_CBID_SIZE + newer_functions);
  add_names(CUPTI_CB_DOMAIN_DRIVER_API, "driver", CUPTI_DRIVER_TRACE_CBID_SIZE + newer_functions);
  wire::Encoder encoder;
  wire::encode(encoder, names);
  channel_.send(wire::FrameType::api_names, encoder);
}

bool Collector::check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* text = "";
  cupti_.cuptiGetResultString(result, &text);
  give_up(std::string(what) + ": " + text);
  return false;
}

void Collector::tell(std::string_view what, std::string_view text) {
  wire::Fields fields;
  fields.set(what, text);
  fields.set("time", clock_ns(CLOCK_REALTIME));
  wire::Encoder info;
  info.fields(fields);
  channel_.send(wire::FrameType::info, info);
}

void Collector::give_up(const std::string& why) {
  state_.store(State::stopped);
  leave_second_clients_alone();
  if (subscriber_) {
    for (const int kind : enabled_) {
      cupti_.cuptiActivityDisable(cupti_kind(kind));
    }
    enabled_.clear();
    cupti_.cuptiUnsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  tell("error", why);
  channel_.shut();
}

void* Collector::thread_entry(void* self) {
  try {
    static_cast<Collector*>(self)->thread_main();
  } catch (...) {
  }
  return nullptr;
}

void Collector::thread_main() {
  leave_out_this_thread();
  double wait_ms = first_flush_ms;
  bool driver_up = false;
  while (running() && channel_.alive()) {
    // A wait that ends when the launcher goes, has something to say, or reads again.
    const auto wait = static_cast<int>(wait_ms);
    wire::Frame frame;
    if (channel_.stalled()) {
      if (channel_.wait_to_send(wait)) {
        resume();
        continue;
      }
    } else if (metrics_ ? metrics_->listen(wait) : channel_.receive(frame, wait)) {
      if (!metrics_) hear(frame);
      continue;
    }
    if (!running()) break;
    {
      const std::lock_guard lock(loader_);
      watch_for_second_clients(&Callbacks::second_client);
    }
    if (metrics_) metrics_->watch();
    wait_ms = std::min<double>(wait_ms * flush_growth, driver_up ? flush_ms_ : starting_flush_ms);
    // Buffers that wait for the launcher are to be full ones.
    if (channel_.stalled()) continue;
    flush(0);
    if (!driver_up && contexts_.any_seen()) {
      driver_up = true;
      wait_ms = first_flush_ms;
      record_device_attributes();
    }
    send_statistics(false);
  }
}

// What the launcher says to a process that measures nothing: the answer to hello, late.
void Collector::hear(const wire::Frame& frame) {
  if (frame.type != wire::FrameType::config || !std::exchange(answer_is_due_, false)) return;
  if (!wire::Decoder(frame.payload()).fields().text("metrics").empty()) {
    tell("metrics_error", "gpuprof stood still when the process started");
  }
}

// The flushing thread, and the one at exit; each by both ids that CUPTI may use for it.
void Collector::leave_out_this_thread() {
  for (const std::uint32_t id : {thread_id(), static_cast<std::uint32_t>(pthread_self())}) {
    for (auto& own : arena_.own_threads()) {
      std::uint32_t none = 0;
      if (own.compare_exchange_strong(none, id)) break;
    }
  }
}

// One at a time: CUPTI waits for the buffers of this flush to be delivered and not for those of
// another, and the last flush must not overtake one that our thread began.
void Collector::flush(std::uint32_t flags) {
  const std::lock_guard lock(flushing_);
  if (cupti_.cuptiActivityFlushAll(flags) != CUPTI_SUCCESS) {
    count(wire::Count::cupti_errors);
  }
}

void Collector::on_completed(std::uint8_t* buffer, std::size_t used) {
  if (!buffer || state_.load(std::memory_order_relaxed) != State::running) return;
  const std::lock_guard lock(packing_);
  const std::uint32_t slot = arena_.completed(reinterpret_cast<std::byte*>(buffer));
  delivery_->take(slot, used);
  wire::Ledger& ledger = arena_.ledger();
  ledger.set(wire::Count::records_packed, packer_->records());
  ledger.set(wire::Count::unknown_records, packer_->unknown());
  ledger.set(wire::Count::profiler_kernels, packer_->profiler_kernels());
  std::size_t dropped = 0;
  if (cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    ledger.add(wire::Count::records_dropped_by_cupti, dropped);
  }
}

void Collector::resume() {
  const std::lock_guard lock(packing_);
  delivery_->resume();
}

void Collector::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (!running()) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    switch (id) {
      case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: {
        // What was registered last runs first: before the driver takes itself down, also when
        // NVTX had us registered before the driver was there.
        if (!contexts_.any_seen()) std::atexit(&Callbacks::at_exit);
        contexts_.created(resource.context);
        if (metrics_) metrics_->context_created(resource.context);
        keep_device_names();
        if (kinds_wait_.exchange(false)) {
          const std::lock_guard lock(enabling_);
          for (const int kind : std::exchange(waiting_kinds_, {})) enable(kind);
        }
        break;
      }
      case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        if (metrics_) metrics_->context_ends(resource.context);
        contexts_.destroyed(resource.context);
        break;
      case CUPTI_CBID_RESOURCE_MODULE_LOADED: on_module(resource); break;
      default: break;
    }
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    const bool starts = id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
    if (metrics_ && starts == (call.callbackSite == CUPTI_API_EXIT)) {
      metrics_->profiler_window(starts);
    }
    const std::lock_guard lock(enabling_);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart && call.callbackSite == CUPTI_API_EXIT) {
      enable_collection();
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop &&
               call.callbackSite == CUPTI_API_ENTER) {
      flush(0);
      disable_collection();
    }
  } else if (domain == CUPTI_CB_DOMAIN_NVTX) {
    if (metrics_) metrics_->nvtx_call(id, *static_cast<const CUpti_NvtxData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    // CUPTI has taken itself down. What it had written is in the arena; nothing more will come.
    count(wire::Count::cupti_errors);
    tell("error", "CUPTI stopped by itself after an error; the program runs on unprofiled");
  }
}

// DEVICE records are written while the driver starts and may lie in a buffer for long. Their names
// are read now, so that they outlive a target that dies early. The buffer is CUPTI's meanwhile, but
// reading finished records in it is safe (measured: docs/measurements.md).
void Collector::keep_device_names() {
  constexpr int most_records = 64;  // they are among the first
  const std::lock_guard lock(packing_);
  for (std::uint32_t slot = 0; slot < arena_.slot_count(); ++slot) {
    if (arena_.slot_header(slot).state.load() != SlotState::lent) continue;
    auto* bytes = reinterpret_cast<std::uint8_t*>(arena_.slot(slot));
    CUpti_Activity* record = nullptr;
    for (int i = 0; i < most_records; ++i) {
      if (cupti_.cuptiActivityGetNextRecord(bytes, arena_.slot_size(), &record) != CUPTI_SUCCESS) {
        break;
      }
      if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        strings_->intern(reinterpret_cast<const CUpti_ActivityDevice6*>(record)->name);
      }
    }
  }
}

void Collector::on_module(const CUpti_ResourceData& resource) {
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
  if (!module || !module->pCubin || module->cubinSize == 0) return;
  std::uint32_t context = 0;
  if (cupti_.cuptiGetContextId) cupti_.cuptiGetContextId(resource.context, &context);
  const std::lock_guard lock(packing_);
  CUpti_ActivityModule record{};
  record.kind = CUPTI_ACTIVITY_KIND_MODULE;
  record.contextId = context;
  record.id = module->moduleId;
  record.cubinSize = static_cast<std::uint32_t>(module->cubinSize);
  record.cubin = module->pCubin;
  packer_->add(reinterpret_cast<CUpti_Activity*>(&record));
  std::uint32_t index = 0;
  static std::uint32_t functions = 0;  // under packing_
  for_each_function(module->pCubin, module->cubinSize, [&](const char* name) {
    CUpti_ActivityFunction function{};
    function.kind = CUPTI_ACTIVITY_KIND_FUNCTION;
    function.id = ++functions;
    function.contextId = context;
    function.moduleId = module->moduleId;
    function.functionIndex = ++index;
    function.name = name;
    packer_->add(reinterpret_cast<CUpti_Activity*>(&function));
  });
  delivery_->send_own();
}

// CUPTI declares DEVICE_ATTRIBUTE and delivers none. Done once; whoever comes second waits.
void Collector::record_device_attributes() {
  {
    const std::lock_guard lock(loader_);
    find_driver();
  }
  const std::lock_guard once(attributes_);
  if (std::exchange(attributes_done_, true)) return;
  if (const int version = driver_version()) tell("driver_version", std::to_string(version));
  if (!wants(schema::DeviceAttribute::info.id)) return;
  const auto records = device_attributes();
  const std::lock_guard lock(packing_);
  for (const CUpti_ActivityDeviceAttribute& record : records) {
    packer_->add(reinterpret_cast<const CUpti_Activity*>(&record));
  }
  delivery_->send_own();
}

// While the launcher stands still only the last are sent: later ones take the place of earlier
// ones.
void Collector::send_statistics(bool last) {
  const std::lock_guard once(statistics_);
  if (channel_.stalled() && !last) return;
  std::vector<wire::Statistic> statistics = wire::read_ledger(arena_.ledger()).statistics;
  if (metrics_) {
    for (wire::Statistic& one : metrics_->statistics()) statistics.push_back(std::move(one));
  }
  wire::Encoder encoder;
  wire::encode(encoder, statistics);
  const auto bytes = encoder.bytes();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text == last_statistics_) return;
  last_statistics_ = std::move(text);
  channel_.send(wire::FrameType::statistics, encoder);
}

void Collector::send_clock(wire::Clock::Moment moment) {
  std::uint64_t cupti_now = 0;
  wire::Clock clock{moment, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC), 0};
  cupti_.cuptiGetTimestamp(&cupti_now);
  clock.cupti = static_cast<std::int64_t>(cupti_now);
  wire::Encoder encoder;
  wire::encode(encoder, clock);
  channel_.send(wire::FrameType::clock, encoder);
}

// A target that ends without waiting for its last kernels would lose their records, and one that
// ends early the device attributes. Both need calls to the driver, which must not be taken for the
// target's: so they are made on a thread of ours.
void Collector::finish_driver_work() {
  const std::lock_guard enabling(enabling_);
  // The target did not ask for this wait: no record of it.
  const bool traced = enabled_.contains(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (traced) cupti_.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  contexts_.synchronize(exit_patience, [] {
    instance().leave_out_this_thread();
    instance().record_device_attributes();
  });
  if (traced) cupti_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
}

// Until what waits is out, as long as it goes on. What is left then salvage finds.
void Collector::wait_for_launcher() {
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + exit_patience;
  while (channel_.stalled()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || !channel_.wait_to_send(static_cast<int>(left))) break;
    const std::lock_guard lock(packing_);
    if (delivery_->resume()) until = Clock::now() + exit_patience;
  }
}

void Collector::at_exit() {
  if (!running()) return;
  if (exiting_.exchange(true)) {
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return;
  }
  if (metrics_) metrics_->finish();
  finish_driver_work();
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  send_statistics(true);
  send_clock(wire::Clock::Moment::last);
  channel_.send(wire::FrameType::goodbye, wire::Encoder());
  arena_.ledger().ended.store(1);
  wait_for_launcher();
  // Still running: destructors that come after us may make CUDA calls, and their records are taken
  // as before, by completed buffers or by salvage.
}

}  // namespace gpuprof::collect
