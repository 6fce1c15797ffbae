// The layout of NVTX payloads: the program registers it with NVTX, and the launcher uses it to read
// the payloads.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "libprof/collect/nvtx_objects.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// Each layout is reported once, including those nested in others. One thread at a time.
class PayloadSchemas {
 public:
  using Tell = std::function<void(const wire::PayloadSchema&)>;

  PayloadSchemas(const NvtxObjects& objects, Tell tell)
      : objects_(objects), tell_(std::move(tell)) {}

  // A payload was seen in that domain (MARKER_DATA.cuptiDomainId).
  void seen(std::uint32_t domain, std::uint64_t schema) { look_up(domain, schema, 0); }

 private:
  void look_up(std::uint32_t domain, std::uint64_t schema, int depth);

  const NvtxObjects& objects_;
  const Tell tell_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> known_;
};

}  // namespace gpuprof::collect
