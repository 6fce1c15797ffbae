// Which calls of the CUDA API are about memory, and what their parameters say of it.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>
#include <span>

namespace gpuprof::collect {

// Of either domain, those of the runtime and of the driver.
std::span<const CUpti_CallbackId> memory_calls(CUpti_CallbackDomain domain);

// Whether CUPTI has a record of the call where it succeeds.
bool has_record(CUpti_CallbackDomain domain, CUpti_CallbackId id);
// Whether it gives something back.
bool gives_back(CUpti_CallbackDomain domain, CUpti_CallbackId id);

struct MemoryFacts {
  std::uint64_t address = 0, handle = 0;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint32_t> device;
  bool of_host = false;  // else the device is the context's, where `device` does not say
};

// `params` as CUPTI's callback has them when the call returns; what it wrote is read only where it
// `succeeded`.
MemoryFacts facts_of(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* params,
                     bool succeeded);

}  // namespace gpuprof::collect
