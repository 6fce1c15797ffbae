// The collector: what runs inside the target.
//
// One per process. start() does everything once, whichever entry point comes first; after that
// CUPTI calls back. A process that traces itself calls begin() and end() instead, any number of
// times: in between, the collector rests, still subscribed to CUPTI, and only keeps track of
// contexts. No exceptions, no signal handlers of ours but that of --cpu-profiling, nothing on the
// target's descriptors 0 to 2: all messages go to the launcher. On the first unexpected CUPTI error
// during startup, collecting ends, the launcher is informed, and the target goes on.
//
// The work is done by the parts, each with its own locks: Stream talks to the launcher, Tracing
// selects what CUPTI collects, Buffers handles the records, RangeProfiler measures,
// ContextCollectors sample and count, MemoryTracker tracks memory. This class coordinates them:
// startup, CUPTI's callbacks, our own thread, fork and exit.
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libprof/collect/buffers.hpp"
#include "libprof/collect/capture_range.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/cost_limit.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/extra/context_collectors.hpp"
#include "libprof/collect/extra/cpu_sampler.hpp"
#include "libprof/collect/extra/launch_stacks.hpp"
#include "libprof/collect/extra/memory_tracker.hpp"
#include "libprof/collect/extra/sass_configuration.hpp"
#include "libprof/collect/hw_trace.hpp"
#include "libprof/collect/loaded_modules.hpp"
#include "libprof/collect/nvtx_calls.hpp"
#include "libprof/collect/range_profiler.hpp"
#include "libprof/collect/removable.hpp"
#include "libprof/collect/share/sharing.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/subscription.hpp"
#include "libprof/collect/tracing.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::collect {

class Collector {
 public:
  // The process's collector. Never destroyed: CUPTI's threads outlive static destructors.
  static Collector& instance();

  // Connects, loads CUPTI, subscribes and enables; only the first call does anything. Any thread.
  // Does nothing if there is no launcher at `socket_path`.
  void start(const char* socket_path) noexcept;

  // start() for a process that traces itself: returns nullopt, or why it is not traced. Must not be
  // called from a CUPTI callback; may be called again after end().
  std::optional<std::string> begin(const char* socket_path) noexcept;
  // Waits for the GPU, sends everything outstanding, and says goodbye to the launcher. Nothing is
  // traced once it returns.
  void end() noexcept;
  // begin() on a new thread of ours, in a process that has loaded the collector for this launcher.
  // The trace ends when the launcher asks for it or is gone; then CUPTI has no subscriber, and
  // attach() may be called again. Returns at once; any thread.
  void attach(const char* socket_path) noexcept;
  // The work between these two calls is measured as a range of this name, if ranges are measured.
  // Both wait for the GPU. Returns the range's number, from 1, or 0 if it is not measured.
  std::uint64_t begin_range(const char* name) noexcept;
  void end_range() noexcept;

  // The CUDA driver is starting: it called the injection entry point. Call after start(); any
  // thread.
  void driver_starts() noexcept;

  // A copy of NVTX, or an extension of one, accepts functions of ours. Call after start(). false:
  // it should use none.
  bool take_nvtx(NvtxGetExportTableFunc_t get_export_table) noexcept;
  bool take_nvtx_extension(nvtxExtModuleInfo_t& extension) noexcept;

  // NCCL makes a communicator, and asks what to pass on with its events. Null: nothing, as they are
  // not recorded. Any thread.
  NcclContext nccl_begins(const NcclOperations::Communicator& communicator) noexcept;
  NcclOperations& nccl() { return buffers_.nccl(); }

  // CUPTI's entry points for OpenACC and OpenMP. Call after start(); null without CUPTI.
  void* cupti_symbol(const char* name) const {
    return running() || resting() ? cupti_.symbol(name) : nullptr;
  }

 private:
  enum class State {
    idle,
    running,
    leaving,  // at the end of attach(): nothing is recorded, what CUPTI returns is sent
    resting,  // between end() and begin()
    stopped,
  };

  Collector() = default;
  bool running() const { return state_.load(std::memory_order_acquire) == State::running; }
  // Whether NVTX gets functions: another trace of the process may want what this one does not.
  bool takes_nvtx() const { return traces_itself_ || nvtx_wanted_.load(); }
  bool resting() const { return state_.load(std::memory_order_acquire) == State::resting; }

  // Called by CUPTI and libc. No exception may escape these.
  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size,
                                        std::size_t* max_records) noexcept;
  static void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                        std::size_t used) noexcept;
  static void CUPTIAPI called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) noexcept;
  static void nvtx_pushes(const char* message) noexcept;
  static void nvtx_pops() noexcept;
  static void second_client(const char* library) noexcept;
  static void before_fork() noexcept;
  static void after_fork() noexcept;
  static void forked() noexcept;
  static void exit_handler() noexcept;

  // The thread of attach(); `path` is the socket's, from malloc().
  static void* attended(void* path) noexcept;
  void attend(const char* socket_path);
  // Ends the trace of attach().
  void leave() noexcept;
  // Why no trace can begin now; nullopt: it can.
  std::optional<std::string> why_not_now(bool attached) const;
  std::optional<std::string> begin(const char* socket_path, bool attached);
  // false: it failed; see why_not_.
  bool set_up(const char* socket_path);
  // The steps of set_up(), in order. false: startup failed, and the launcher knows why.
  bool subscribe();
  bool make_buffers();
  void prepare_metrics();
  void prepare_context_collectors();
  void prepare_memory_tracking();
  void prepare_stacks();
  void prepare_cpu_samples();
  void prepare_nvtx();
  void send_definitions();
  void receive_external_correlation();
  // Other clients of CUPTI are served, or told that they cannot be.
  void share_cupti();
  // Without waiting for the GPU.
  void deliver_what_runs();
  void say_goodbye();
  // Tells the launcher why, and collects nothing.
  void give_up(const std::string& why);

  // Callbacks, by domain.
  void on_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void note_stack(ThreadSlots::Thread& thread, std::uint8_t uses, CUpti_CallbackDomain domain,
                  CUpti_CallbackId id, const CUpti_CallbackData& call);
  wire::Count cost_of(std::uint8_t uses, CUpti_CallbackId id) const;
  void on_handled_call(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain,
                       CUpti_CallbackId id, const CUpti_CallbackData& call);
  void on_launch(ThreadSlots::Thread& thread, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void on_event(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  void on_driver_up();
  void on_state(CUpti_CallbackId id, const CUpti_StateData& state);
  void note_context(CUpti_CallbackId id, CUcontext context);
  void module_loaded(const CUpti_ResourceData& resource);
  void on_graph_node(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  // `original`: it is a clone of this one; 0: of none.
  void note_node(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t own,
                 std::uint64_t original);
  // Handles callbacks between two traces.
  void note_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  void on_profiler_call(bool starts, const CUpti_CallbackData& call);
  // On the program's thread, as for cudaProfilerStart and Stop.
  void turn(CaptureRange::Turn turn);

  // Our own thread: flushes at intervals, and provides what CUPTI delivers no records for.
  void thread_main();
  // For calls to CUPTI and the driver: not while a launch is counted individually, since they would
  // wait for it.
  template <class Calls>
  void between_launches(Calls&& calls);
  void flush(std::uint32_t flags);
  // Whether kernels came without times since the last call, which the user learns once.
  bool answer_untimed_kernels();
  void flush_after_wait();
  // Waits until the launcher sends or accepts something, and handles it. false: timed out.
  bool listen(int timeout_ms);
  void take_message(const wire::Frame& frame);
  // false: it is something else.
  bool take_request(const wire::Frame& frame);
  void look_for_driver();
  void look_for_second_clients();
  static void look_for_new_clients() noexcept;
  void record_device_attributes();
  void keep_to_budget();
  // What the launcher asks for.
  void switch_tracing(bool on);
  // See Tracing. Not while a part measures or samples.
  void end_unused_callbacks();
  void send_statistics(bool last);

  void at_exit();
  // false: the GPU is still busy.
  bool finish_driver_work(std::chrono::milliseconds patience);

  std::atomic<State> state_{State::idle};
  std::timed_mutex starting_;
  std::string why_not_;      // guarded by starting_
  bool handlers_ = false;    // those for fork and exit are registered
  bool begun_late_ = false;  // CUDA was in use before this trace
  std::atomic<bool> attached_{false};
  std::atomic<bool> leave_asked_{false};
  OwnThread thread_;
  std::mutex loader_;  // held while a thread of ours uses the dynamic loader; blocks fork
  Channel channel_;
  wire::Fields config_;
  CheckedApi cupti_;
  Contexts contexts_;
  Stream stream_{channel_};
  Subscription subscription_{cupti_};
  Buffers buffers_{cupti_, channel_, stream_};
  Tracing tracing_{cupti_, stream_, buffers_, contexts_, subscription_};
  Sharing sharing_{cupti_, subscription_, tracing_, buffers_};
  NodeNumbers nodes_{cupti_};
  CaptureRange capture_;
  HwTrace hw_trace_{cupti_, stream_};
  NvtxHandles handles_{cupti_, contexts_};
  Removable<RangeProfiler> metrics_;         // absent: not wanted or not possible
  Removable<ContextCollectors> by_context_;  // likewise
  SassConfiguration sass_{cupti_};

  CostLimit budget_;  // of our own thread, while that runs

  std::unique_ptr<MemoryTracker> tracker_;       // created when first wanted
  MemoryTracker* memory_ = nullptr;              // null: not wanted in this trace
  std::unique_ptr<LaunchStacks> launch_stacks_;  // created when first wanted
  LaunchStacks* stacks_ = nullptr;               // null: not wanted in this trace
  std::unique_ptr<CpuSampler> cpu_sampler_;      // created when first wanted
  CpuSampler* cpu_ = nullptr;                    // null: not wanted in this trace
  std::atomic<bool> tracks_stacks_{false};       // calls for memory have stacks from memory_

  std::atomic<bool> uses_nccl_{false};  // the process does, from here on
  LoadedModules modules_;
  std::atomic<bool> traces_itself_{false};  // it called begin()
  std::atomic<bool> nvtx_wanted_{false};    // by this trace
  std::atomic<bool> keeps_modules_{false};  // it traces itself, and a trace wanted modules

  std::mutex attributes_;  // held while they are read
  bool attributes_done_ = false;
  std::atomic<bool> exiting_{false};
  bool untimed_told_ = false;             // our own thread's
  std::atomic<bool> client_told_{false};  // this launcher knows that CUPTI has a second client
};

}  // namespace gpuprof::collect
