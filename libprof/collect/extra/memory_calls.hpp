// The memory calls of the CUDA API, and what their parameters mean.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>
#include <span>

namespace gpuprof::collect {

// The calls of one domain, runtime or driver.
std::span<const CUpti_CallbackId> memory_calls(CUpti_CallbackDomain domain);

// Whether CUPTI has a record of the call when it succeeds.
bool has_record(CUpti_CallbackDomain domain, CUpti_CallbackId id);
// Whether it gives memory back.
bool gives_back(CUpti_CallbackDomain domain, CUpti_CallbackId id);

struct MemoryFacts {
  std::uint64_t address = 0, handle = 0;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint32_t> device;
  bool of_host = false;  // otherwise, without `device`, it is the context's device
};

// `params` as in CUPTI's callback when the call returns; output parameters are read only if it
// `succeeded`.
MemoryFacts facts_of(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* params,
                     bool succeeded);

}  // namespace gpuprof::collect
