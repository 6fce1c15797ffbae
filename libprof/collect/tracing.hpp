// Which kinds of activity CUPTI is told to trace, and when.
//
// Set up on one thread before CUPTI calls back; then any thread.
#pragma once

#include <cupti.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "libprof/collect/api_calls.hpp"
#include "libprof/collect/buffers.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/stream.hpp"

namespace gpuprof::collect {

class Tracing {
 public:
  Tracing(CheckedApi& cupti, Stream& stream, Buffers& buffers, const Contexts& contexts)
      : cupti_(cupti), stream_(stream), buffers_(buffers), contexts_(contexts), calls_(cupti) {}

  // What the launcher asks for, and what CUPTI is to be told before the driver is up. Again after
  // end().
  void choose(const wire::Fields& config);
  bool wants(int kind) const;
  // Metrics are measured beside it, which takes kernels that are traced one at a time if
  // `trace_serially`.
  void measured_beside(bool trace_serially);
  // Kernels are traced one at a time, those of graphs excepted: it is to be told of the calls that
  // launch graphs.
  bool serial() const { return serial_.load(std::memory_order_relaxed); }

  // At the target's start. What describes the machine is traced from then on, the rest too unless
  // it is to wait for cudaProfilerStart.
  void begin();
  // The driver is up: the kinds that waited for it.
  void driver_is_up();
  // cudaProfilerStart and cudaProfilerStop: all but what describes the machine, on and off.
  void start();
  void stop();
  // A call that launches a graph begins or returns. `measured`: in a range whose metrics are
  // measured.
  void graph_launch(bool enters, bool measured);
  // Calls f while the kind is not traced.
  void leave_out(CUpti_ActivityKind kind, const std::function<void()>& f);
  // From now on graphs are traced as it comes.
  void process_ends() { ends_.store(true); }
  // Nothing is traced from now on.
  void end();

 private:
  void choose_details(const wire::Fields& config);
  // All of these under enabling_.
  void enable(int kind);
  void enable_all();
  CUptiResult enable_and_dump(CUpti_ActivityKind kind);
  void disable(CUpti_ActivityKind kind);
  const char* why_not(int kind) const;
  CUpti_ActivityKind cupti_kind(int kind) const;
  void configure_unified_memory();

  CheckedApi& cupti_;
  Stream& stream_;
  Buffers& buffers_;
  const Contexts& contexts_;

  // From the set-up on as they are.
  std::vector<int> kinds_;           // asked for
  bool queries_ = true;              // calls that only ask are traced too
  bool launch_calls_only_ = false;   // runtime and driver calls have no rows
  bool from_start_ = true;           // not only from cudaProfilerStart on
  bool measured_ = false;            // metrics are measured beside
  std::atomic<bool> serial_{false};  // kernels are traced one at a time

  std::atomic<bool> ends_{false};
  std::atomic<bool> kinds_wait_{false};  // for a driver that is up
  std::mutex enabling_;                  // guards the rest; held while kinds are switched
  ApiCalls calls_;
  std::set<int> enabled_;  // CUPTI is collecting
  std::vector<int> waiting_kinds_;
  std::vector<std::function<void()>> details_off_;  // takes back what choose_details() told CUPTI
  int graph_launches_ = 0;  // calls that have not returned; counted while serial_
};

}  // namespace gpuprof::collect
