// CUpti_ActivityMemoryKind, where a kind of memory matters.
#pragma once

#include <cstdint>

namespace gpuprof::derive {

inline constexpr std::int32_t device_memory = 3, array_memory = 4, managed_memory = 5,
                              static_device_memory = 6, static_managed_memory = 7;

// Of a static variable, which nobody releases.
constexpr bool is_static_memory(std::int32_t kind) {
  return kind == static_device_memory || kind == static_managed_memory;
}

// A device's, and not the host's.
constexpr bool is_device_memory(std::int32_t kind) {
  return kind == device_memory || kind == array_memory || kind == managed_memory ||
         is_static_memory(kind);
}

}  // namespace gpuprof::derive
