#include "libprof/collect/user_ranges.hpp"

#include <generated_nvtx_meta.h>

namespace gpuprof::collect {

const std::array<CUpti_CallbackId, 5> nvtx_range_calls = {
    CUPTI_CBID_NVTX_nvtxRangePushA,     CUPTI_CBID_NVTX_nvtxRangePushEx,
    CUPTI_CBID_NVTX_nvtxRangePop,       CUPTI_CBID_NVTX_nvtxDomainRangePushEx,
    CUPTI_CBID_NVTX_nvtxDomainRangePop,
};

namespace {

NvtxCall push_of(const nvtxEventAttributes_t* event) {
  const bool plain = event && event->messageType == NVTX_MESSAGE_TYPE_ASCII;
  return {.pops = false, .message = plain ? event->message.ascii : nullptr};
}

}  // namespace

std::optional<NvtxCall> nvtx_call_of(CUpti_CallbackId id, const CUpti_NvtxData& call) {
  const void* params = call.functionParams;
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop: return NvtxCall{.pops = true};
    case CUPTI_CBID_NVTX_nvtxRangePushA:
      return NvtxCall{.message = static_cast<const nvtxRangePushA_params*>(params)->message};
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return push_of(static_cast<const nvtxRangePushEx_params*>(params)->eventAttrib);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
      return push_of(static_cast<const nvtxDomainRangePushEx_params*>(params)->core.eventAttrib);
    default: return std::nullopt;
  }
}

bool OpenRanges::begin() {
  if (open() != 0) return false;
  open_.store(++seen_);
  return true;
}

bool OpenRanges::end() { return open_.exchange(0) != 0; }

bool OpenRanges::push(std::thread::id thread, bool wanted) {
  const bool measured = wanted && begin();
  pushed_[thread].push_back(measured);
  return measured;
}

bool OpenRanges::pop(std::thread::id thread) {
  std::vector<bool>& open = pushed_[thread];
  if (open.empty()) return false;
  const bool measured = open.back();
  open.pop_back();
  return measured && end();
}

}  // namespace gpuprof::collect
