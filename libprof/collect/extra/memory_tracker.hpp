// What --track-memory adds to CUPTI's records: memory calls that have none, calls that found no
// memory, and the free memory reported by the driver.
//
// The target's threads put rows in a ring and go on: no locks, no waiting. A thread of ours sends
// the rows, and queries the driver.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/extra/call_stacks.hpp"
#include "libprof/collect/extra/ring.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::collect {

class MemoryTracker {
 public:
  // `on_thread` is called first on our thread, `find_driver` repeatedly until there is a driver.
  MemoryTracker(CheckedApi& cupti, Channel& channel, std::function<void()> on_thread,
                std::function<void()> find_driver, std::function<void(std::string_view)> warn);

  static std::vector<wire::WireTable> tables();

  // Nothing is done between stop() and begin(). `contexts`: those that already exist. `stacks`:
  // also record the stacks of calls.
  void begin(const std::vector<CUcontext>& contexts, bool stacks);
  void stop();

  // In CUPTI's callbacks. Returns whether it was a memory call.
  bool call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void context_created(CUcontext context);
  void context_ends(CUcontext context);
  void module_loaded() { ask(schema::DeviceMemory::Reason::module); }

  // When the target or the trace ends: queries the driver one last time before the next begin(),
  // and sends all rows. Later calls send what has come since.
  void finish();

  std::vector<wire::Statistic> statistics() const;

 private:
  using Reason = schema::DeviceMemory::Reason;
  using Clock = std::chrono::steady_clock;

  void add(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void ask(Reason reason);
  void wake();
  void sleep_until(Clock::time_point until);
  std::uint64_t now();

  void thread_main();
  void read_devices(Reason reason);
  void name_stacks();
  void send();

  CheckedApi& cupti_;
  Channel& channel_;
  std::unique_ptr<CallStacks> stacks_;  // created when first wanted
  const std::function<void()> on_thread_, find_driver_;
  const std::function<void(std::string_view)> warn_;

  static constexpr std::size_t ring_rows = 8192;
  Ring<schema::MemoryCall::Row, ring_rows> calls_;
  // Correlation ids of driver calls that have a row: the enclosing runtime calls need none.
  std::array<std::atomic<std::uint32_t>, 256> told_{};
  std::atomic<std::uint64_t> lost_{0};

  std::atomic<std::uint32_t> asked_{0};  // bits: reasons to query the driver
  std::atomic<std::uint32_t> wakes_{0};  // a counter; the thread sleeps on it
  std::atomic<bool> asleep_{false};
  std::atomic<bool> answered_{false};  // what finish() asked for
  std::atomic<bool> stops_{false};
  std::atomic<bool> with_stacks_{false};
  OwnThread thread_;

  std::timed_mutex contexts_mutex_;             // held while the driver is queried
  std::atomic<int> ending_{0};                  // contexts; stays raised if a wait timed out
  std::map<CUcontext, std::uint32_t> devices_;  // by context
  bool closed_ = false;                         // no more driver queries
  std::mutex sending_;  // held while rows are collected and sent; guards the members below
  std::vector<schema::DeviceMemory::Row> answers_;
  std::vector<CallStacks::Named> named_;
};

}  // namespace gpuprof::collect
