// What the profiling APIs of the stand-in ask of devices, contexts and threads.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace fake {

// The stand-in driver, if the program has loaded it; it stays loaded.
void* driver();

inline const Context* context_of(CUcontext context) {
  return reinterpret_cast<const Context*>(context);
}

// FAKE_CUDA_CHIPS: "FAKE1,FAKE2"; the last one goes for the devices behind, too. An index of
// `chips`.
std::uint32_t chip_of(std::uint32_t device);

// Alive while a callback runs in this thread.
class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

}  // namespace fake
