// The collector: what runs inside the target.
//
// One per process. start() does everything once, whichever entry point comes first; after that
// CUPTI calls back. No exception and no signal handler of ours, nothing on the target's descriptors
// 0 to 2: what there is to say goes to the launcher. On the first unexpected CUPTI error collecting
// ends, the launcher is told, and the target goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/delivery.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/payload_schemas.hpp"
#include "libprof/collect/range_profiler.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/cupti/api.hpp"

namespace gpuprof::collect {

class Collector {
 public:
  // The process's collector. Never destroyed: CUPTI's threads outlive static destructors.
  static Collector& instance();

  // Connects, loads CUPTI, subscribes and enables; only the first call does anything. Any thread.
  // Without a launcher at `socket_path` nothing is done at all.
  void start(const char* socket_path) noexcept;

  // The CUDA driver is starting: it called the injection entry point. After start(); any thread.
  void driver_starts() noexcept;

  // CUPTI's own entry points for NVTX, OpenACC and OpenMP, to be called after start(); null without
  // CUPTI.
  void* cupti_symbol(const char* name) const { return running() ? cupti_.symbol(name) : nullptr; }
  // Driver calls of the calling thread are ours and not the target's.
  void leave_out_this_thread();
  bool running() const { return state_.load(std::memory_order_acquire) == State::running; }

 private:
  enum class State { idle, running, stopped };

  Collector() = default;

  // Steps of start(), in order. false: not going to work, the launcher has been told why.
  bool greet(const char* socket_path);
  void hear(const wire::Frame& frame);
  bool load_cupti();
  bool subscribe();
  void choose_details();
  void receive_external_correlation();
  void prepare_metrics();
  void enable_callbacks();
  void send_definitions();
  void send_api_names();
  bool enable_all();

  bool wants(int kind) const;  // asked for by the launcher
  bool enable(int kind);
  const char* why_not(int kind) const;
  void enable_collection();
  void disable_collection();
  void trace_launch_calls(bool on);
  void find_queries();
  void leave_out_calls(int kind);
  CUpti_ActivityKind cupti_kind(int kind) const;
  void trace_graph_launch(bool enters);
  void configure_unified_memory();
  // Unexpected CUPTI errors end collecting. Returns whether all is well.
  bool check(CUptiResult result, const char* what);
  void give_up(const std::string& why);
  void count(wire::Count what) { arena_.ledger().add(what); }
  // Something found out, as one field of an info frame.
  void tell(std::string_view what, std::string_view text);

  // The own thread: flushes at intervals, fills what CUPTI gives no records for.
  static void* thread_entry(void* self);
  void thread_main();
  void flush(std::uint32_t flags);
  void record_device_attributes();
  void send_statistics(bool last);
  void wait_for_launcher();
  void send_clock(wire::Clock::Moment moment);
  void at_exit();
  void finish_driver_work();

  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void keep_device_names();
  void on_module(const CUpti_ResourceData& resource);
  void on_completed(std::uint8_t* buffer, std::size_t used);
  void resume();

  std::atomic<State> state_{State::idle};
  std::mutex starting_;
  std::mutex loader_;  // held while a thread of ours uses the dynamic loader; no fork then
  Channel channel_;
  wire::Fields config_;
  bool answer_is_due_ =
      false;                // the launcher stood still at hello; what it says then comes too late
  std::vector<int> kinds_;  // asked for
  std::set<int> enabled_;   // CUPTI is collecting
  bool serial_ = false;     // kernels are traced one at a time, those of graphs excepted
  int graph_launches_ = 0;  // calls that have not returned; counted while serial_
  std::mutex enabling_;
  int flush_ms_ = 500;

  cupti::Api cupti_;
  // A running CUPTI newer than our headers may know more functions than we can ask for by count.
  static constexpr std::uint32_t newer_functions = 256;
  std::vector<CUpti_CallbackId> runtime_queries_;  // functions that are not traced
  std::vector<CUpti_CallbackId> driver_queries_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<bool> kinds_wait_{false};  // for a driver that is up
  std::vector<int> waiting_kinds_;       // under enabling_

  Arena arena_;
  std::unique_ptr<LaunchNames> launch_names_;
  std::unique_ptr<PayloadSchemas> payload_schemas_;
  std::unique_ptr<LiveStrings> strings_;
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<Delivery> delivery_;
  std::mutex packing_;  // guards delivery_, packer_ and strings_; held while a batch is sent

  std::unique_ptr<RangeProfiler> metrics_;  // null: none are wanted, or none can be had

  Contexts contexts_;
  std::mutex attributes_;  // held while they are read
  bool attributes_done_ = false;

  std::atomic<bool> exiting_{false};
  std::mutex flushing_;    // held while CUPTI flushes
  std::mutex statistics_;  // held while they are sent
  std::string last_statistics_;

  friend struct Callbacks;
};

}  // namespace gpuprof::collect
