// The lengths of CUPTI's records. Records carry no length, so CUPTI is made to step from one record
// to the next in a buffer made for the purpose.
//
// One thread.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "libprof/collect/packer.hpp"

namespace gpuprof::collect {

class RecordSizes {
 public:
  explicit RecordSizes(decltype(&::cuptiActivityGetNextRecord) next) : next_(next) {}

  // 0: unknown.
  std::size_t of(std::uint32_t kind) {
    if (kind == 0 || kind >= kind_limit) return 0;
    if (!sizes_[kind]) sizes_[kind] = measure(kind);
    return sizes_[kind];
  }

 private:
  std::size_t measure(std::uint32_t kind) {
    // Long enough for two records; every word is the kind, so the second one is found wherever it
    // begins.
    alignas(8) std::array<std::uint32_t, 1024> buffer;
    buffer.fill(kind);
    CUpti_Activity* record = nullptr;
    auto* bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
    if (next_(bytes, sizeof buffer, &record) != CUPTI_SUCCESS) return 0;
    if (next_(bytes, sizeof buffer, &record) != CUPTI_SUCCESS) return 0;
    return static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - bytes);
  }

  decltype(&::cuptiActivityGetNextRecord) next_;
  std::array<std::size_t, kind_limit> sizes_{};
};

}  // namespace gpuprof::collect
