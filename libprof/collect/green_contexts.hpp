// The green contexts of the process. A launch into a stream of one runs on a part of the device,
// but its callback names the context that the green one was made from (seen with CUPTI 13.0
// and 13.5).
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// Any thread.
class GreenContexts {
 public:
  using Part = std::shared_ptr<const wire::Partition>;

  // Handles the callback of a driver call. Returns whether it was one of green_calls.
  bool take(CUpti_CallbackId id, const CUpti_CallbackData& call);

  bool any() const { return any_.load(std::memory_order_relaxed); }
  bool is_one(CUcontext context) const;
  // The one that the stream was made in; null: none.
  CUcontext of(CUstream stream) const;
  // What the context has of its device, once learned() was called for it; null before.
  Part part(CUcontext context) const;
  void learned(CUcontext context, wire::Partition partition);

 private:
  std::atomic<bool> any_{false};  // there was one
  mutable std::mutex mutex_;
  std::map<CUcontext, Part> contexts_;
  std::map<CUstream, CUcontext> streams_;
};

}  // namespace gpuprof::collect
