// What the collector asks of the CUDA driver directly. Except for Current, never from a CUPTI
// callback, where CUDA calls would hang, and except for current_context() only on threads whose
// calls the packer leaves out.
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace gpuprof::collect {

// Looks up the driver's functions, once there is a driver; the other functions do nothing before.
// Uses the dynamic loader, so no fork may happen meanwhile (Collector::loader_).
void find_driver();

// Runs `body` on a new detached thread that blocks all signals: they are meant for the target's own
// threads.
bool start_thread(void* (*body)(void*), void* argument);

// One such thread, which may be started again when it has ended.
class OwnThread {
 public:
  // Runs (self->*Main)() on it, which an exception ends. If there is no thread, nothing is run.
  template <auto Main, class Self>
  void start(Self* self) {
    self_ = self;
    runs_.store(true);
    const auto entry = [](void* argument) -> void* {
      auto& thread = *static_cast<OwnThread*>(argument);
      try {
        (static_cast<Self*>(thread.self_)->*Main)();
      } catch (...) {
      }
      thread.runs_.store(false);
      thread.runs_.notify_all();
      return nullptr;
    };
    if (!start_thread(entry, this)) runs_.store(false);
  }
  void wait() const { runs_.wait(true); }

 private:
  void* self_ = nullptr;
  std::atomic<bool> runs_{false};
};

// The contexts of the process, as reported by CUPTI's resource callbacks. Any thread.
class Contexts {
 public:
  void created(CUcontext context);
  // Adds existing contexts that were never reported: the primary ones, and the calling thread's.
  // false: there are none, or the driver is not up yet. Call after find_driver().
  bool find_existing();
  void destroyed(CUcontext context);
  // Nobody reports contexts any more.
  void forget();
  std::vector<CUcontext> all() const;
  bool any_seen() const { return seen_.load(std::memory_order_acquire); }

  // Waits for the work in all of them, but no longer than `patience`: a kernel that never ends must
  // not hold up the target. `on_thread` is called first on the waiting thread. Returns whether all
  // work is done.
  bool synchronize(std::chrono::milliseconds patience, void (*on_thread)()) const;

 private:
  mutable std::mutex mutex_;
  std::set<CUcontext> contexts_;
  std::atomic<bool> seen_{false};
};

// Makes a context current on the calling thread for the object's lifetime. Does nothing before
// find_driver().
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

// The calling thread's context; null: none, or before find_driver().
CUcontext current_context();

// Attributes of all devices, as the records that CUPTI declares but does not deliver.
std::vector<CUpti_ActivityDeviceAttribute> device_attributes();

// Free and total bytes of the context's device. Called on a thread of ours, which has no context
// before or after. false: the driver does not say.
bool device_memory(CUcontext context, std::uint64_t& free, std::uint64_t& total);

// The driver's CUDA version, 13000 for 13.0; 0 if there is no driver.
int driver_version();

}  // namespace gpuprof::collect
