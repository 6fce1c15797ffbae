#include "libprof/collect/collector.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "libprof/collect/driver.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "libprof/collect/keep_errno.hpp"
#include "libprof/collect/second_client.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

using Clock = std::chrono::steady_clock;

// The first flushes follow each other quickly, so that a target that dies early leaves finished
// records: from 2 ms up to the usual interval within the first two seconds of CUDA. While the
// driver is still starting there is little to flush.
constexpr int first_flush_ms = 2;
constexpr int starting_flush_ms = 20;
constexpr double flush_growth = 1.25;
// Once kernels come without times. CUPTI uses a device buffer again after its records are out.
constexpr double hurried_flush_ms = 5;
// While nothing is traced.
constexpr double resting_flush_ms = 500;
// Clocks are read more often at first, so that short runs get some readings too.
constexpr std::chrono::milliseconds first_clocks_after{1000};
constexpr std::chrono::milliseconds most_between_clocks{10'000};

// "2.35 %"
std::string percent_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", 100 * share);
  return text.data();
}

}  // namespace

Collector& Collector::instance() {
  alignas(Collector) static std::byte memory[sizeof(Collector)];
  static Collector* const collector = new (memory) Collector;
  return *collector;
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
    const State state = self.state_.load(std::memory_order_acquire);
    if (state != State::stopped) self.sharing_.completed(buffer, used);
    if (state == State::running || state == State::leaving) {
      self.buffers_.completed(reinterpret_cast<std::byte*>(buffer), used);
    } else if (state != State::stopped) {
      self.buffers_.unwanted(reinterpret_cast<std::byte*>(buffer), used);
    }
  } catch (...) {
    // Out of memory while packing: the slot stays ours, and salvage will find it.
  }
}

// --- callbacks

void Collector::called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void* data) noexcept {
  Collector& self = instance();
  try {
    const bool shared = self.subscription_.shares(domain, id);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
      self.on_call(domain, id, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && is_graph_node_event(id)) {
      if (self.running()) self.on_graph_node(id, *static_cast<const CUpti_ResourceData*>(data));
    } else {
      self.on_event(domain, id, data);
    }
    if (shared) [[unlikely]]
      self.sharing_.called_back(domain, id, data);
  } catch (...) {
  }
}

void Collector::on_event(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const KeepErrno keep;
  if (running()) {
    const Costs::Scope timed(buffers_.costs(), wire::Count::cost_contexts);
    on_callback(domain, id, data);
  } else if (resting() && domain == CUPTI_CB_DOMAIN_RESOURCE && data) {
    note_resource(id, *static_cast<const CUpti_ResourceData*>(data));
  }
}

// On the target's hot path: add nothing here. What the collector does for a call is not part of the
// call's time.
void Collector::on_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData& call) {
  if (!running()) return;
  const std::uint8_t uses = subscription_.uses_of(domain, id);
  ThreadSlots::Thread& thread = buffers_.this_thread();
  CallRecords& records = buffers_.calls();
  bool waited = false;
  {
    Costs::Callback timed(buffers_.costs(), thread.timed, wire::Count::cost_api);
    if (timed.is_timed()) [[unlikely]]
      timed.count_as(cost_of(uses, id));
    if (call.callbackSite == CUPTI_API_ENTER) {
      if (uses & Subscription::handled) on_handled_call(thread, domain, id, call);
      if (uses & Subscription::placed) note_stack(thread, uses, domain, id, call);
      if (uses & Subscription::recorded) records.enter(thread, domain, id, call);
      if (uses & Subscription::waits) records.enter_wait(thread, id, call);
    } else {
      waited = uses & Subscription::waits && records.exit_wait(thread, id, call);
      if (uses & Subscription::recorded) waited |= records.exit(thread, domain, id, call);
      if (uses & Subscription::handled) on_handled_call(thread, domain, id, call);
    }
  }
  if (waited) flush_after_wait();
}

void Collector::note_stack(ThreadSlots::Thread& thread, std::uint8_t uses,
                           CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const CUpti_CallbackData& call) {
  const bool handled = uses & Subscription::handled;
  if (handled && tracks_stacks_.load(std::memory_order_relaxed) &&
      !(domain == CUPTI_CB_DOMAIN_DRIVER_API && is_kernel_launch(id))) {
    return;
  }
  if (stacks_) stacks_->note(thread, call.correlationId, __builtin_frame_address(0));
}

// What the time of a callback counts as.
wire::Count Collector::cost_of(std::uint8_t uses, CUpti_CallbackId id) const {
  if (!(uses & Subscription::handled)) return wire::Count::cost_api;
  return memory_ && !is_kernel_launch(id) ? wire::Count::cost_memory : wire::Count::cost_launches;
}

void Collector::on_handled_call(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    const KeepErrno keep;
    if (memory_) memory_->call(domain, id, call);
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart ||
             id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
    const KeepErrno keep;
    on_profiler_call(id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, call);
  } else {
    on_launch(thread, id, call);
  }
}

void Collector::on_launch(ThreadSlots::Thread& thread, CUpti_CallbackId id,
                          const CUpti_CallbackData& call) {
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (capture_.by_launches() && (is_kernel_launch(id) || is_graph_launch(id))) {
    const KeepErrno keep;
    turn(capture_.launch(enters));
  }
  if (enters && call.symbolName) {
    buffers_.note_launch(call.symbolName, call.correlationId);
    thread.launched = {.correlation = call.correlationId};
  }
  if (!metrics_.there() && !by_context_.there() && !memory_ && !tracing_.serial()) return;
  const KeepErrno keep;
  const auto metrics = metrics_.use();
  const auto by_context = by_context_.use();
  if (memory_ && memory_->call(CUPTI_CB_DOMAIN_DRIVER_API, id, call)) return;
  if (is_module_unload(id)) {
    if (by_context && enters) by_context->module_ends(call.context);
    return;
  }
  if (metrics) metrics->driver_call(id, call);
  if (tracing_.serial() && is_graph_launch(id)) {
    tracing_.graph_launch(enters, metrics && metrics->measures_a_range());
  }
  if (by_context) by_context->driver_call(id, call);
}

void Collector::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_RESOURCE:
      if (id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) return on_driver_up();
      return on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
    case CUPTI_CB_DOMAIN_STATE: return on_state(id, *static_cast<const CUpti_StateData*>(data));
    default: return;
  }
}

// CUPTI gives no data (seen with 13.0 and 13.5).
void Collector::on_driver_up() {
  look_for_driver();
  hw_trace_.driver_is_up();
}

// Perhaps on CUPTI's own thread: nothing here may wait for a flush.
void Collector::on_state(CUpti_CallbackId id, const CUpti_StateData& state) {
  if (id != CUPTI_CBID_STATE_FATAL_ERROR) {
    if (!hw_trace_.take(state)) {
      stream_.tell("warning", "CUPTI reports " + cupti_.text(state.notification.result));
    }
    return;
  }
  // CUPTI has shut itself down. What it had written is in the arena; nothing more will come.
  buffers_.count(wire::Count::cupti_errors);
  stream_.tell("error", "CUPTI stopped after an error; the program runs on unprofiled");
}

void Collector::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  const auto metrics = metrics_.use();
  const auto by_context = by_context_.use();
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      note_context(id, resource.context);
      if (metrics) metrics->context_created(resource.context);
      if (by_context) by_context->context_created(resource.context);
      if (memory_) memory_->context_created(resource.context);
      buffers_.keep_device_names();
      return tracing_.driver_is_up();
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      if (metrics) metrics->context_ends(resource.context);
      if (by_context) by_context->context_ends(resource.context);
      if (memory_) memory_->context_ends(resource.context);
      return note_context(id, resource.context);
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      if (memory_) memory_->module_loaded();
      return module_loaded(resource);
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      if (by_context) by_context->module_ends(resource.context);
      return modules_.unloaded(resource);
    default: return;
  }
}

void Collector::note_context(CUpti_CallbackId id, CUcontext context) {
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    modules_.context_ended(context);
    sass_.context_ends(context);
    return contexts_.destroyed(context);
  }
  if (id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED) return;
  // Exit handlers run in reverse order: registering it now makes it run before the driver shuts
  // down, even if NVTX had us registered before the driver was there.
  if (!contexts_.any_seen()) std::atexit(&exit_handler);
  contexts_.created(context);
}

void Collector::note_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_MODULE_LOADED: return modules_.loaded(resource, nullptr);
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING: return modules_.unloaded(resource);
    default: return note_context(id, resource.context);
  }
}

void Collector::module_loaded(const CUpti_ResourceData& resource) {
  const bool wanted = tracing_.wants(schema::Module::info.id);
  const auto tell = [this](const CUpti_ResourceData& module) { buffers_.add_module(module); };
  if (keeps_modules_.load()) {
    modules_.loaded(resource, wanted ? LoadedModules::Tell(tell) : nullptr);
  } else if (wanted) {
    tell(resource);
  }
}

// A captured node comes three times, twice as its graph is instantiated: created, then as a clone.
// The second says nothing that the third does not, once the call is known to make clones there.
void Collector::on_graph_node(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  if (id == CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING ||
      id == CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING) {
    return nodes_.graph_ends();
  }
  const bool of_nccl = uses_nccl_.load(std::memory_order_relaxed);
  if (!(stacks_ || of_nccl) || !resource.resourceDescriptor) return;
  ThreadSlots::Thread& thread = buffers_.this_thread();
  const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
  const bool created = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
  if (created && stacks_ && thread.clones.are_made(graph.graph, thread.stack_of)) return;
  const Costs::Callback timed(buffers_.costs(), thread.timed, wire::Count::cost_api);
  // A node that takes over another's work may still be cloned as what it was.
  const bool updated = id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED;
  const std::uint64_t own = updated ? 0 : nodes_.own(graph.graph, graph.node, thread.graph);
  if (created) {
    if (own != 0) note_node(thread, 0, own, 0);
    return;
  }
  const std::uint64_t original =
      nodes_.own(graph.originalGraph, graph.originalNode, thread.original_graph);
  if (original == 0) return;
  note_node(thread, nodes_.of_records(graph.node), own, original);
  if (!updated) thread.clones = {graph.graph, thread.stack_of};
}

void Collector::note_node(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t own,
                          std::uint64_t original) {
  if (stacks_) stacks_->note_node(thread, node, own, original);
  if (!uses_nccl_.load(std::memory_order_relaxed)) return;
  NcclOperations& nccl = buffers_.nccl();
  if (original == 0) return nccl.node_made(thread, own);
  for (const std::uint64_t number : {node, own}) {
    if (number != 0) nccl.node_cloned(thread, number, original);
  }
}

void Collector::on_profiler_call(bool starts, const CUpti_CallbackData& call) {
  // What lies between the two calls is collected, but not the calls themselves.
  if (starts != (call.callbackSite == CUPTI_API_EXIT)) return;
  if (const auto metrics = metrics_.use()) metrics->profiler_window(starts);
  starts ? tracing_.start() : tracing_.stop();
}

void Collector::turn(CaptureRange::Turn turn) {
  if (turn == CaptureRange::Turn::on) tracing_.start();
  if (turn == CaptureRange::Turn::off) tracing_.stop();
}

// --- NVTX

bool Collector::take_nvtx(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (!running() && !resting()) return false;
  if (!takes_nvtx()) return true;
  return collect::take_nvtx(get_export_table, buffers_.nvtx(), handles_);
}

bool Collector::take_nvtx_extension(nvtxExtModuleInfo_t& extension) noexcept {
  if (!running() && !resting()) return false;
  if (takes_nvtx()) collect::take_nvtx_extension(extension, buffers_.nvtx());
  return true;
}

void Collector::nvtx_pushes(const char* message) noexcept {
  const KeepErrno keep;
  try {
    Collector& self = instance();
    if (!self.running()) return;
    if (self.capture_.by_ranges()) self.turn(self.capture_.push(message));
    if (const auto metrics = self.metrics_.use()) metrics->nvtx_push(message);
  } catch (...) {
  }
}

void Collector::nvtx_pops() noexcept {
  const KeepErrno keep;
  try {
    Collector& self = instance();
    if (!self.running()) return;
    if (const auto metrics = self.metrics_.use()) metrics->nvtx_pop();
    if (self.capture_.by_ranges()) self.turn(self.capture_.pop());
  } catch (...) {
  }
}

// --- NCCL

NcclContext Collector::nccl_begins(const NcclOperations::Communicator& communicator) noexcept {
  const KeepErrno keep;
  if (!running() && !resting()) return nullptr;
  uses_nccl_.store(true);
  try {
    // A trace may begin or end meanwhile, which can take long; that one asks for the nodes itself.
    const std::unique_lock lock(starting_, std::try_to_lock);
    if (lock.owns_lock() && running()) subscription_.want_graph_nodes();
  } catch (...) {
  }
  return buffers_.nccl().begin(communicator);
}

// --- our own thread

void Collector::thread_main() {
  buffers_.leave_out_this_thread();
  budget_.begin(static_cast<double>(config_.integer("budget", 0)) / 10'000,
                Clock::now().time_since_epoch());
  auto flush_every_ms =
      static_cast<double>(std::clamp<std::int64_t>(config_.integer("flush_ms", 25), 1, 60'000));
  double wait_ms = first_flush_ms;
  bool driver_up = false;
  bool rested = false;  // nothing was traced when we last looked
  auto clocks_every = first_clocks_after;
  auto next_clocks = Clock::now() + clocks_every;
  while (running() && channel_.alive() && !leave_asked_.load()) {
    const bool rests = !tracing_.on() && driver_up;
    if (listen(static_cast<int>(rests ? resting_flush_ms : wait_ms))) continue;
    if (!running()) break;
    const Costs::Scope timed(buffers_.costs(), wire::Count::background_flush,
                             Costs::Scope::Clock::processor);
    buffers_.correct_clock();
    buffers_.slots().prepare();
    look_for_second_clients();
    sharing_.read_clock();
    if (const auto metrics = metrics_.use()) metrics->watch();
    wait_ms =
        std::min<double>(wait_ms * flush_growth, driver_up ? flush_every_ms : starting_flush_ms);
    // Buffers that wait for the launcher should be full ones.
    if (channel_.stalled()) continue;
    flush(0);
    if (answer_untimed_kernels()) flush_every_ms = std::min(flush_every_ms, hurried_flush_ms);
    if (const auto by_context = by_context_.use()) by_context->watch();
    if (!driver_up && contexts_.any_seen()) {
      driver_up = true;
      wait_ms = first_flush_ms;
      between_launches([this] { record_device_attributes(); });
    }
    keep_to_budget();
    // A program that traces again soon keeps its callbacks.
    if (std::exchange(rested, rests) && rests) end_unused_callbacks();
    if (stacks_) {
      const std::string warning = stacks_->take_warning();
      if (!warning.empty()) stream_.tell("warning", warning);
    }
    send_statistics(false);
    if (Clock::now() < next_clocks) continue;
    stream_.clock(wire::Clock::Moment::meanwhile, cupti_.cuptiGetTimestamp);
    clocks_every = std::min(2 * clocks_every, most_between_clocks);
    next_clocks = Clock::now() + clocks_every;
  }
}

bool Collector::answer_untimed_kernels() {
  if (metrics_.there()) return false;  // kernels in a range profiler's hands have none either
  const std::uint64_t new_ones = buffers_.untimed_kernels();
  if (new_ones == 0 || std::exchange(untimed_told_, true)) return new_ones > 0;
  stream_.tell("warning",
               "kernels come without times: CUPTI's memory on the GPU is full. It gets more of it "
               "and is emptied more often from now on; --device-buffers sets how much it has");
  return true;
}

template <class Calls>
void Collector::between_launches(Calls&& calls) {
  const auto by_context = by_context_.use();
  if (!by_context || !by_context->by_launch()) return calls();
  if (const auto between = by_context->between_launches()) calls();
}

void Collector::flush(std::uint32_t flags) {
  between_launches([&] { buffers_.flush(flags); });
}

void Collector::flush_after_wait() {
  const auto by_context = by_context_.use();
  if (!by_context || !by_context->by_launch()) buffers_.flush_after_wait();
}

bool Collector::listen(int timeout_ms) {
  if (channel_.stalled()) {
    const bool some = channel_.wait_to_send(timeout_ms);
    if (some) buffers_.resume();
    return some;
  }
  wire::Frame frame;
  if (const auto metrics = metrics_.use()) {
    if (!metrics->listen(timeout_ms, frame)) return false;
    take_request(frame);
    return true;
  }
  const auto by_context = by_context_.use();
  if (by_context && by_context->by_launch()) return by_context->listen(timeout_ms);
  if (!channel_.receive(frame, timeout_ms)) return false;
  take_message(frame);
  return true;
}

bool Collector::take_request(const wire::Frame& frame) {
  if (frame.type != wire::FrameType::config) return false;
  const wire::Fields fields = wire::Decoder(frame.payload()).fields();
  const auto trace = fields.find("trace"), number = fields.find("control");
  if (fields.find("leave")) {
    leave_asked_.store(true);
    return true;
  }
  if (trace) switch_tracing(*trace == "on");
  if (number) {
    flush(0);
    stream_.tell("controlled", *number);
  }
  return trace || number;
}

void Collector::take_message(const wire::Frame& frame) {
  if (take_request(frame)) return;
  const auto late = stream_.late_answer(frame);
  if (late && !late->text("metrics").empty()) {
    stream_.tell("metrics_error", "gpuprof stood still when the process started");
  }
}

void Collector::switch_tracing(bool on) {
  if (on) return tracing_.start();
  tracing_.stop();
  end_unused_callbacks();
}

void Collector::end_unused_callbacks() {
  if (!tracing_.has_unused_callbacks() || metrics_.there() || by_context_.there()) return;
  flush(0);  // the calls until now
  tracing_.end_unused_callbacks();
  flush(0);  // CUPTI's records of calls, which are left out
}

void Collector::look_for_driver() {
  const std::lock_guard lock(loader_);
  find_driver();
}

void Collector::look_for_second_clients() {
  const std::lock_guard lock(loader_);
  watch_for_second_clients(&second_client);
}

// On any thread of the target, which may hold the loader's lock; our own may wait for that.
void Collector::look_for_new_clients() noexcept {
  Collector& self = instance();
  if (!self.running() && !self.resting()) return;
  constexpr int tries = 40;
  for (int i = 0; i < tries; ++i) {
    const std::unique_lock lock(self.loader_, std::try_to_lock);
    if (lock.owns_lock()) return watch_for_second_clients(&second_client);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Collector::second_client(const char* library) noexcept {
  Collector& self = instance();
  self.buffers_.count(wire::Count::clients_turned_away);
  if (self.client_told_.exchange(true)) return;
  try {
    self.stream_.tell("warning", std::string(library) +
                                     " asked for CUPTI, which only one profiler can have: gpuprof "
                                     "keeps it, that one gets no GPU records, the program runs on");
  } catch (...) {
  }
}

// CUPTI declares DEVICE_ATTRIBUTE but delivers none. Done once; a second caller waits for the
// first.
void Collector::record_device_attributes() {
  look_for_driver();
  const std::lock_guard once(attributes_);
  if (std::exchange(attributes_done_, true)) return;
  if (const int version = driver_version()) {
    stream_.tell("driver_version", std::to_string(version));
  }
  if (tracing_.wants(schema::DeviceAttribute::info.id)) buffers_.add(device_attributes());
}

void Collector::keep_to_budget() {
  const std::chrono::nanoseconds spent{buffers_.costs().of_program()};
  const auto cut = budget_.look(Clock::now().time_since_epoch(), spent);
  if (!cut) return;
  const std::string why = "gpuprof took " + percent_text(budget_.share()) +
                          " of the program's time for a second, more than --budget " +
                          percent_text(budget_.limit());
  if (*cut == Cut::none) {
    return stream_.tell("warning", why + "; only kernels, copies and sets are still recorded");
  }
  if (!tracing_.give_up(*cut)) return;
  end_unused_callbacks();
  buffers_.count(wire::Count::budget_cuts);
  stream_.explain("budget_cuts", why + ": no more " + text_of(*cut) + " are recorded");
}

void Collector::send_statistics(bool last) {
  stream_.statistics(last, [this] {
    // Here, so that the process does not end while another thread is about to report.
    cupti_.tell_unexpected(stream_);
    std::vector<wire::Statistic> all = buffers_.statistics();
    if (begun_late_) all.push_back({"", "begun_late", 1});
    if (const auto metrics = metrics_.use()) {
      std::ranges::move(metrics->statistics(), std::back_inserter(all));
    }
    if (memory_) std::ranges::move(memory_->statistics(), std::back_inserter(all));
    if (const std::uint64_t lost = stacks_ ? stacks_->lost() : 0) {
      all.push_back({"", "call_stacks_lost", lost});
    }
    if (const std::uint64_t lost = cpu_ ? cpu_->lost() : 0) {
      all.push_back({"", "cpu_samples_lost", lost});
    }
    if (const std::uint64_t lost = buffers_.nccl().lost()) {
      all.push_back({std::string(schema::NcclOperation::table.name), "records_discarded", lost});
    }
    if (const auto by_context = by_context_.use()) by_context->add_statistics(all);
    return all;
  });
}

}  // namespace gpuprof::collect
