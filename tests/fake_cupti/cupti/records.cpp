#include "tests/fake_cupti/cupti/records.hpp"

#include <cstdlib>

namespace fake {
namespace {

struct Size {
  std::uint32_t kind;
  std::uint32_t since;  // version that made it this long
  std::size_t size;
};

// The last fitting line counts.
constexpr Size sizes[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, 0, sizeof(CUpti_ActivityMemcpy5)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 26, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 130400, sizeof(CUpti_ActivityMemcpy7)},
    {CUPTI_ACTIVITY_KIND_MEMSET, 0, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_MEMSET, 130400, sizeof(CUpti_ActivityMemset5)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 0, sizeof(CUpti_ActivityKernel9)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130000, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130100, sizeof(CUpti_ActivityKernel11)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130200, sizeof(CUpti_ActivityKernel12)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130400, sizeof(CUpti_ActivityKernel13)},
    {CUPTI_ACTIVITY_KIND_DRIVER, 0, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 0, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_DEVICE, 0, sizeof(CUpti_ActivityDevice5)},
    {CUPTI_ACTIVITY_KIND_DEVICE, 130200, sizeof(CUpti_ActivityDevice6)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 0, sizeof(CUpti_ActivityContext3)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 130200, sizeof(CUpti_ActivityContext4)},
    {CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, 130200, sizeof(CUpti_ActivityGreenContext)},
    {CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, 130201, sizeof(CUpti_ActivityGreenContext2)},
    {CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, 130400, sizeof(CUpti_ActivityGreenContext3)},
    {CUPTI_ACTIVITY_KIND_MARKER, 0, sizeof(CUpti_ActivityMarker2)},
    {CUPTI_ACTIVITY_KIND_MARKER_DATA, 0, sizeof(CUpti_ActivityMarkerData)},
    {CUPTI_ACTIVITY_KIND_MARKER_DATA, 130000, sizeof(CUpti_ActivityMarkerData2)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 0, sizeof(CUpti_ActivityOverhead3)},
    {CUPTI_ACTIVITY_KIND_STREAM, 0, sizeof(CUpti_ActivityStream)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, sizeof(CUpti_ActivitySynchronization)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 26, sizeof(CUpti_ActivitySynchronization2)},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 0, sizeof(CUpti_ActivityMemory4)},
    {CUPTI_ACTIVITY_KIND_ENVIRONMENT, 0, sizeof(CUpti_ActivityEnvironment)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0, sizeof(CUpti_ActivityExternalCorrelation)},
    {CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, 0, sizeof(CUpti_ActivityOpenAccLaunch)},
    {CUPTI_ACTIVITY_KIND_OPENMP, 0, sizeof(CUpti_ActivityOpenMp)},
};

static_assert(sizeof(CUpti_ActivityMemcpy5) == 88 && sizeof(CUpti_ActivityMemcpy6) == 96);
static_assert(sizeof(CUpti_ActivityMemset4) == 88);
static_assert(sizeof(CUpti_ActivityKernel9) == 208 && sizeof(CUpti_ActivityKernel10) == 216 &&
              sizeof(CUpti_ActivityKernel13) == 248);
static_assert(sizeof(CUpti_ActivityDevice5) == 184 && sizeof(CUpti_ActivityContext3) == 32);
static_assert(sizeof(CUpti_ActivityMarkerData) == 32 && sizeof(CUpti_ActivityMarkerData2) == 40);
static_assert(sizeof(CUpti_ActivitySynchronization) == 40 &&
              sizeof(CUpti_ActivitySynchronization2) == 56);
static_assert(sizeof(CUpti_ActivityMemory4) == 128 && sizeof(CUpti_ActivityOverhead3) == 56);

}  // namespace

std::uint32_t version() {
  static const std::uint32_t it = [] {
    const char* text = std::getenv("FAKE_CUPTI_VERSION");
    return text ? static_cast<std::uint32_t>(std::atol(text)) : 130500u;
  }();
  return it;
}

std::size_t record_size(std::uint32_t kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kind = CUPTI_ACTIVITY_KIND_KERNEL;
  std::size_t size = 0;
  for (const Size& line : sizes) {
    if (line.kind == kind && version() >= line.since) size = line.size;
  }
  return size;
}

}  // namespace fake
