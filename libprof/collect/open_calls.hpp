// The CUDA calls of a thread that have begun and not returned; call_records.hpp makes records of
// them. Only the thread uses it.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuprof::collect {

struct OpenCalls {
  // Calls within calls: a driver call may call back the application, which may make more calls. Any
  // deeper ones have no records.
  static constexpr std::size_t most = 8;

  struct Call {
    bool runtime;
    CUpti_CallbackId id;
    std::uint32_t correlation;
    std::uint64_t start;
  };

  std::uint64_t epoch = 0;  // CallRecords' when it was last used
  std::uint32_t depth = 0;
  std::array<Call, most> open{};
  Call wait{};
  bool waited = false;  // in the call that is open
};

}  // namespace gpuprof::collect
