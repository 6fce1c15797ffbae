// The collector: what runs inside the target.
//
// One per process. start() does everything once, whichever entry point comes first; after that
// CUPTI calls back. A process that traces itself calls begin() and end() instead, as often as it
// likes: in between the collector rests, subscribed to CUPTI, and minds only which contexts there
// are. No exception and no signal handler of ours, nothing on the target's descriptors
// 0 to 2: what there is to say goes to the launcher. On the first unexpected CUPTI error at the
// start collecting ends, the launcher is told, and the target goes on.
//
// The work is done by its parts, each with its own locks: Stream speaks with the launcher, Tracing
// says what CUPTI collects, Buffers takes the records, RangeProfiler measures, ContextCollectors
// sample and count, MemoryTracker follows memory.
// What is here is who does what when: start, CUPTI's callbacks, our own thread, fork and exit.
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
#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/context_collectors.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/loaded_modules.hpp"
#include "libprof/collect/memory_tracker.hpp"
#include "libprof/collect/range_profiler.hpp"
#include "libprof/collect/removable.hpp"
#include "libprof/collect/sass_configuration.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/subscription.hpp"
#include "libprof/collect/tracing.hpp"

namespace gpuprof::collect {

class Collector {
 public:
  // The process's collector. Never destroyed: CUPTI's threads outlive static destructors.
  static Collector& instance();

  // Connects, loads CUPTI, subscribes and enables; only the first call does anything. Any thread.
  // Without a launcher at `socket_path` nothing is done at all.
  void start(const char* socket_path) noexcept;

  // start() for a process that traces itself, with an answer: nothing, or why it is not traced. Not
  // from a CUPTI callback; again after end().
  std::optional<std::string> begin(const char* socket_path) noexcept;
  // Waits for the GPU, sends what there is, and takes leave of the launcher. Nothing is traced when
  // it returns.
  void end() noexcept;
  // What the process does between the two is measured as a range of this name, if ranges are. Both
  // wait for the GPU. Its number among the ranges, from 1; 0: it is not measured.
  std::uint64_t begin_range(const char* name) noexcept;
  void end_range() noexcept;

  // The CUDA driver is starting: it called the injection entry point. After start(); any thread.
  void driver_starts() noexcept;

  // CUPTI's own entry points for NVTX, OpenACC and OpenMP, to be called after start(); null without
  // CUPTI.
  void* cupti_symbol(const char* name) const {
    return running() || resting() ? cupti_.symbol(name) : nullptr;
  }

 private:
  enum class State {
    idle,
    running,
    resting,  // between end() and begin()
    stopped,
  };

  Collector() = default;
  bool running() const { return state_.load(std::memory_order_acquire) == State::running; }
  bool resting() const { return state_.load(std::memory_order_acquire) == State::resting; }

  // What CUPTI and libc call. Nothing may leave these by exception.
  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size,
                                        std::size_t* max_records) noexcept;
  static void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                        std::size_t used) noexcept;
  static void CUPTIAPI called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) noexcept;
  static void second_client(const char* library) noexcept;
  static void before_fork() noexcept;
  static void after_fork() noexcept;
  static void forked() noexcept;
  static void exit_handler() noexcept;
  static void* thread_entry(void* self) noexcept;

  // false: it does not work, and why_not_ says why.
  bool set_up(const char* socket_path);
  // Steps of that, in order. false: not going to work, the launcher has been told why.
  bool subscribe();
  bool make_buffers();
  void prepare_metrics();
  void prepare_context_collectors();
  void prepare_memory_tracking();
  void send_definitions();
  void receive_external_correlation();
  // The launcher is told why, and nothing is collected.
  void give_up(const std::string& why);

  // Callbacks, by domain.
  void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  void note_context(CUpti_CallbackId id, CUcontext context);
  void module_loaded(const CUpti_ResourceData& resource);
  // What is heard of between two traces.
  void note_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  void on_profiler_call(bool starts, const CUpti_CallbackData& call);

  // The own thread: flushes at intervals, fills what CUPTI gives no records for.
  void thread_main();
  // Calls of CUPTI's and the driver's, but not while a launch is counted by itself: those it would
  // wait for.
  template <class Calls>
  void between_launches(Calls&& calls);
  void flush(std::uint32_t flags);
  // Waits for what the launcher says or takes, and minds it. false: nothing in this time.
  bool listen(int timeout_ms);
  void look_for_driver();
  void look_for_second_clients();
  void record_device_attributes();
  void send_statistics(bool last);

  void at_exit();
  // false: the GPU is not idle after all.
  bool finish_driver_work(std::chrono::milliseconds patience);

  std::atomic<State> state_{State::idle};
  std::mutex starting_;
  std::string why_not_;      // guarded by starting_
  bool handlers_ = false;    // of fork and exit are registered
  bool begun_late_ = false;  // CUDA was at work before this trace
  std::atomic<bool> thread_runs_{false};
  std::mutex loader_;  // held while a thread of ours uses the dynamic loader; no fork then
  Channel channel_;
  wire::Fields config_;
  CheckedApi cupti_;
  Contexts contexts_;
  Stream stream_{channel_};
  Subscription subscription_{cupti_};
  Buffers buffers_{cupti_, channel_, stream_};
  Tracing tracing_{cupti_, stream_, buffers_, contexts_};
  Removable<RangeProfiler> metrics_;         // not there: none are wanted, or none can be had
  Removable<ContextCollectors> by_context_;  // likewise
  SassConfiguration sass_{cupti_};

  std::unique_ptr<MemoryTracker> tracker_;  // once it was wanted
  MemoryTracker* memory_ = nullptr;         // null: not wanted in this trace

  LoadedModules modules_;
  bool traces_itself_ = false;              // it called begin()
  std::atomic<bool> keeps_modules_{false};  // it traces itself, and a trace wanted them

  std::mutex attributes_;  // held while they are read
  bool attributes_done_ = false;
  std::atomic<bool> exiting_{false};
  std::atomic<bool> client_told_{false};  // of this launcher, that CUPTI has a second one
};

}  // namespace gpuprof::collect
