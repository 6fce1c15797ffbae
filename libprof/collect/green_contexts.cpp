#include "libprof/collect/green_contexts.hpp"

#include <utility>

#include "libprof/collect/driver_calls.hpp"

namespace gpuprof::collect {
namespace {

// The driver uses one handle for both (seen with 13.0).
CUcontext context_of(CUgreenCtx green) { return reinterpret_cast<CUcontext>(green); }

}  // namespace

bool GreenContexts::take(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (!is_green_call(id)) return false;
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  const bool worked =
      !enters && *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate:
      if (!worked) break;
      contexts_[context_of(
          *static_cast<const cuGreenCtxCreate_params*>(call.functionParams)->phCtx)] = nullptr;
      any_.store(true);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy: {
      if (!enters) break;
      const CUcontext gone =
          context_of(static_cast<const cuGreenCtxDestroy_params*>(call.functionParams)->hCtx);
      contexts_.erase(gone);
      std::erase_if(streams_, [&](const auto& stream) { return stream.second == gone; });
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate: {
      if (!worked) break;
      const auto& params = *static_cast<const cuGreenCtxStreamCreate_params*>(call.functionParams);
      streams_[*params.phStream] = context_of(params.greenCtx);
      break;
    }
    default:
      if (enters) {
        streams_.erase(static_cast<const cuStreamDestroy_v2_params*>(call.functionParams)->hStream);
      }
  }
  return true;
}

bool GreenContexts::is_one(CUcontext context) const {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  return contexts_.contains(context);
}

CUcontext GreenContexts::of(CUstream stream) const {
  if (!any()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

GreenContexts::Part GreenContexts::part(CUcontext context) const {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  return found == contexts_.end() ? nullptr : found->second;
}

void GreenContexts::learned(CUcontext context, wire::Partition partition) {
  const std::lock_guard lock(mutex_);
  contexts_[context] = std::make_shared<const wire::Partition>(std::move(partition));
}

}  // namespace gpuprof::collect
