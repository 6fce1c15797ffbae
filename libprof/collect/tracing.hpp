// Selects which activity kinds CUPTI traces, and when.
//
// Set up on one thread before CUPTI calls back; afterwards any thread.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "libprof/collect/api_calls.hpp"
#include "libprof/collect/buffers.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/cost_limit.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/stream.hpp"

namespace gpuprof::collect {

class Tracing {
 public:
  Tracing(CheckedApi& cupti, Stream& stream, Buffers& buffers, const Contexts& contexts,
          Subscription& subscription)
      : cupti_(cupti),
        subscription_(subscription),
        stream_(stream),
        buffers_(buffers),
        contexts_(contexts),
        calls_(cupti, subscription, buffers.calls()) {}

  // Applies the launcher's config, and makes the CUPTI settings that must precede the driver. May
  // be called again after end().
  void choose(const wire::Fields& config);
  // Before begin(): whether calls are wanted for where in the program's code they are.
  void want_places(bool wanted) { places_ = wanted; }
  bool wants(int kind) const;
  // Metrics are measured at the same time, which requires tracing kernels one at a time if
  // `trace_serially`.
  void measured_beside(bool trace_serially);
  // Kernels are traced one at a time, except those in graphs: report calls that launch graphs to
  // graph_launch().
  bool serial() const { return serial_.load(std::memory_order_relaxed); }

  // At the target's start. Traces what describes the machine from then on, and the rest too unless
  // it must wait for cudaProfilerStart.
  void begin();
  // The driver is up: enables the kinds that waited for it.
  void driver_is_up();
  // cudaProfilerStart and cudaProfilerStop: turn everything on and off, except what describes the
  // machine.
  void start();
  void stop();
  // Whether anything but that is traced.
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Callbacks that nothing needs any more cost a little in each call, until this ends them. Waits
  // for some 40 ms: for our own thread.
  bool has_unused_callbacks() const { return subscription_.has_unused(); }
  void end_unused_callbacks();
  // A call that launches a graph begins or returns. `measured`: within a range whose metrics are
  // measured.
  void graph_launch(bool enters, bool measured);
  // Calls f while the kind is not traced.
  void leave_out(CUpti_ActivityKind kind, const std::function<void()>& f);
  // For another client of CUPTI in the process: the kind is on as long as that one or we want it.
  // Any thread; takes no lock of those that are held while CUPTI flushes.
  CUptiResult share(int kind, bool on);
  // CUPTI makes records of the kind only for another client.
  bool leaves_to_others(int kind) const { return calls_.by_callbacks(kind) || !wants(kind); }
  // From now on graph launches no longer switch the tracing mode.
  void process_ends() { ends_.store(true); }
  // Gives up records for good. false: there were none of these.
  bool give_up(Cut cut);
  // Nothing is traced from now on.
  void end();
  // The same while other threads are in calls. `disable` ends all callbacks that have to end.
  void end_among_calls(const std::function<void()>& disable);

 private:
  void choose_details(const wire::Fields& config);
  // All of these are called under enabling_.
  void enable(int kind);
  void enable_all();
  void watch_calls(bool on);
  // Ends callbacks by `disable` while threads are in calls, some of which CUPTI would otherwise
  // believe to go on forever: then it takes every call inside of a later one for a call of its own,
  // and each launch has two (seen with 13.0).
  void among_calls(const std::function<void()>& disable);
  CUptiResult enable_and_dump(CUpti_ActivityKind kind);
  // CUPTI's kind, on and off for us.
  CUptiResult switch_on(CUpti_ActivityKind kind, bool dump = false);
  CUptiResult switch_off(CUpti_ActivityKind kind);
  void disable(CUpti_ActivityKind kind);
  bool give_up(int kind);
  const char* why_not(int kind) const;
  CUpti_ActivityKind cupti_kind(int kind) const;
  void configure_unified_memory();

  CheckedApi& cupti_;
  Subscription& subscription_;
  Stream& stream_;
  Buffers& buffers_;
  const Contexts& contexts_;

  // Unchanged after the set-up.
  std::vector<int> kinds_;           // requested
  bool queries_ = true;              // pure query calls are traced too
  bool launch_calls_only_ = false;   // runtime and driver calls get no rows
  bool places_ = false;              // where in the program's code calls are
  bool from_start_ = true;           // not only after cudaProfilerStart
  bool measured_ = false;            // metrics are measured at the same time
  std::atomic<bool> serial_{false};  // kernels are traced one at a time

  // Who has CUPTI trace a kind: we, another client.
  struct Wanted {
    bool by_us = false, by_client = false;
  };
  std::mutex switching_;  // guards it, and is held while CUPTI switches
  std::array<Wanted, kind_limit> switched_{};

  std::atomic<bool> on_{false};
  std::atomic<bool> ends_{false};
  std::atomic<bool> kinds_wait_{false};  // for the driver to be up
  std::mutex enabling_;                  // guards the members below; held while kinds are switched
  ApiCalls calls_;
  std::set<int> enabled_;  // being collected by CUPTI
  std::set<int> given_up_;
  std::vector<int> waiting_kinds_;
  std::vector<std::function<void()>> details_off_;  // reverts the settings of choose_details()
  int graph_launches_ = 0;  // calls that have not returned; counted while serial_
};

}  // namespace gpuprof::collect
