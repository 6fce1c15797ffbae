// How NVTX payloads are laid out: the program registers it with NVTX, CUPTI tells it, and the
// launcher reads the payloads by it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "libprof/cupti/api.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// Each layout is told once, those that are part of another too. One thread at a time.
class PayloadSchemas {
 public:
  using Tell = std::function<void(const wire::PayloadSchema&)>;

  PayloadSchemas(const cupti::Api& cupti, Tell tell);

  // Of a payload in that domain (MARKER_DATA.cuptiDomainId).
  void seen(std::uint32_t domain, std::uint64_t schema) { look_up(domain, schema, 0); }

 private:
  void look_up(std::uint32_t domain, std::uint64_t schema, int depth);

  const Tell tell_;
  // cuptiActivityGetNvtxExtPayloadAttr, which no header declares; null in older versions.
  using Attributes = CUptiResult(std::uint32_t, std::uint64_t, CUpti_NvtxExtPayloadAttr*);
  Attributes* const attributes_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> known_;
};

}  // namespace gpuprof::collect
