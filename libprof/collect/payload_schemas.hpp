// The layout of NVTX payloads: the program registers it with NVTX, CUPTI reports it, and the
// launcher uses it to read the payloads.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "libprof/cupti/api.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// Each layout is reported once, including those nested in others. One thread at a time.
class PayloadSchemas {
 public:
  using Tell = std::function<void(const wire::PayloadSchema&)>;

  PayloadSchemas(const cupti::Api& cupti, Tell tell);

  // A payload was seen in that domain (MARKER_DATA.cuptiDomainId).
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
