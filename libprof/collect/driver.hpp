// What the collector asks of the CUDA driver itself. But for Current never from a CUPTI callback,
// where CUDA calls would hang, and only from threads whose calls the packer leaves out.
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace gpuprof::collect {

// Looks the driver's functions up, once there is a driver; the others do nothing before. Uses the
// dynamic loader, so no fork may happen meanwhile (Collector::loader_).
void find_driver();

// Runs `body` on a new detached thread that takes no signals: they are meant for the target's own.
bool start_thread(void* (*body)(void*), void* argument);

// The contexts of the process as CUPTI's resource callbacks tell of them. Any thread.
class Contexts {
 public:
  void created(CUcontext context);
  // Those that are there although nobody told of them: the primary ones, and the calling thread's.
  // false: there are none, or the driver is not up yet. After find_driver().
  bool find_existing();
  void destroyed(CUcontext context);
  std::vector<CUcontext> all() const;
  bool any_seen() const { return seen_.load(std::memory_order_acquire); }

  // Waits for the work in all of them, but no longer than `patience`: a kernel that never ends must
  // not keep the target. `on_thread` is called first on the thread that waits. Whether all is done.
  bool synchronize(std::chrono::milliseconds patience, void (*on_thread)()) const;

 private:
  mutable std::mutex mutex_;
  std::set<CUcontext> contexts_;
  std::atomic<bool> seen_{false};
};

// Makes a context the calling thread's while it lives. Does nothing before find_driver().
class Current {
 public:
  explicit Current(CUcontext context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

// Attributes of all devices, as the records CUPTI declares and does not deliver.
std::vector<CUpti_ActivityDeviceAttribute> device_attributes();

// Free and total bytes of the context's device. The calling thread, one of ours, has no context
// before and after. false: the driver does not say.
bool device_memory(CUcontext context, std::uint64_t& free, std::uint64_t& total);

// CUDA version of the driver, 13000 for 13.0; 0 when there is none.
int driver_version();

}  // namespace gpuprof::collect
