// Tracks whether any stream is being captured into a graph: waiting for the GPU meanwhile breaks
// the capture.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <atomic>

#include "libprof/collect/driver_calls.hpp"

namespace gpuprof::collect {

// Any thread.
class Captures {
 public:
  bool any() const { return streams_.load() > 0; }

  // Handles the callback of a driver call. Returns whether the call was about capturing. `before`
  // finishes what must be over when a capture begins; any() is already true when it is called.
  template <class Before>
  bool take(CUpti_CallbackId id, const CUpti_CallbackData& call, Before&& before) {
    const Capture capture = capture_of(id);
    const bool begins = capture == Capture::begins;
    const bool enters = call.callbackSite == CUPTI_API_ENTER;
    if (capture == Capture::none) return false;
    if (begins && enters) {
      streams_.fetch_add(1);
      before();
    } else if (!enters && (!begins || *static_cast<const CUresult*>(call.functionReturnValue) !=
                                          CUDA_SUCCESS)) {
      ended();
    }
    return true;
  }

 private:
  // Perhaps one that began before anybody listened.
  void ended() {
    for (int now = streams_.load(); now > 0 && !streams_.compare_exchange_weak(now, now - 1);) {
    }
  }

  std::atomic<int> streams_{0};
};

}  // namespace gpuprof::collect
