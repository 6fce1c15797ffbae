#include "libprof/collect/range_session.hpp"

#include <chrono>
#include <utility>

#include "libprof/collect/profiler_calls.hpp"

namespace gpuprof::collect {
namespace {

// The parameters of one CUPTI call.
#define GPUPROF_PARAMS(type) cupti::sized<type>(type##_STRUCT_SIZE)

constexpr std::size_t largest_image = std::size_t{24} << 20;
constexpr std::uint32_t smallest_batch = 8;

// Marks a call as ongoing for the object's lifetime.
class Busy {
 public:
  Busy(Watch& watch, const char* what) : watch_(watch) { watch_.begin(what); }
  ~Busy() { watch_.end(); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Watch& watch_;
};

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool RangeSession::call(const char* function, CUptiResult result) {
  if (result != CUPTI_SUCCESS) why_ = why_refused(cupti_, function, result);
  return result == CUPTI_SUCCESS;
}

bool RangeSession::enable() {
  if (object_) return true;
  const Busy busy(watch_, "cuptiRangeProfilerEnable");
  initialize_profiler(cupti_);
  CUpti_RangeProfiler_Enable_Params params{};
  // Older versions refuse a struct longer than theirs.
  params.structSize =
      cupti_.version >= 130400
          ? CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE
          : CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
  params.ctx = context_;
  if (settings_.reset_caches && cupti_.version >= 130400) {
    params.cacheControlMode = CUPTI_CACHE_CONTROL_MODE_ALL;
  }
  const CUptiResult result = cupti_.cuptiRangeProfilerEnable(&params);
  initialize_profiler(cupti_);
  if (result == CUPTI_ERROR_INVALID_OPERATION) {
    why_ = "another context of the device is being measured, and CUPTI takes one at a time";
    return false;
  }
  if (!call("cuptiRangeProfilerEnable", result)) return false;
  object_ = params.pRangeProfilerObject;
  return true;
}

bool RangeSession::disable() {
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Disable_Params);
  params.pRangeProfilerObject = std::exchange(object_, nullptr);
  configured_ = false;
  return call("cuptiRangeProfilerDisable", cupti_.cuptiRangeProfilerDisable(&params));
}

bool RangeSession::prepare(int number, const wire::CollectGroup& group, std::uint32_t ranges) {
  FreshImage& fresh = fresh_images_[number];
  if (fresh.bytes.empty()) {
    std::vector<const char*> names;
    for (const std::string& counter : group.counters) names.push_back(counter.c_str());
    auto size = GPUPROF_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    for (fresh.ranges = ranges;; fresh.ranges /= 2) {
      size.maxNumOfRanges = fresh.ranges;
      size.maxNumRangeTreeNodes = fresh.ranges;
      if (!call("cuptiRangeProfilerGetCounterDataSize",
                cupti_.cuptiRangeProfilerGetCounterDataSize(&size))) {
        return false;
      }
      if (size.counterDataSize <= largest_image || fresh.ranges < 2 * smallest_batch) break;
    }
    fresh.bytes.resize(size.counterDataSize);
    auto init = GPUPROF_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    init.pRangeProfilerObject = object_;
    init.counterDataSize = fresh.bytes.size();
    init.pCounterData = fresh.bytes.data();
    if (!call("cuptiRangeProfilerCounterDataImageInitialize",
              cupti_.cuptiRangeProfilerCounterDataImageInitialize(&init))) {
      return false;
    }
  }
  image_ = fresh.bytes;
  ranges_ = fresh.ranges;
  return true;
}

bool RangeSession::configure(const wire::CollectGroup& group) {
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  params.pRangeProfilerObject = object_;
  params.configSize = group.config_image.size();
  params.pConfig = group.config_image.data();
  params.counterDataImageSize = image_.size();
  params.pCounterDataImage = image_.data();
  params.range = settings_.user_ranges ? CUPTI_UserRange : CUPTI_AutoRange;
  params.replayMode = settings_.kernel_replay ? CUPTI_KernelReplay : CUPTI_UserReplay;
  params.maxRangesPerPass = ranges_;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.passIndex = group.pass;
  params.targetNestingLevel = 1;
  const Busy busy(watch_, "cuptiRangeProfilerSetConfig");
  configured_ = call("cuptiRangeProfilerSetConfig", cupti_.cuptiRangeProfilerSetConfig(&params));
  return configured_;
}

bool RangeSession::start() {
  const Busy busy(watch_, "cuptiRangeProfilerStart");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Start_Params);
  params.pRangeProfilerObject = object_;
  open_ = call("cuptiRangeProfilerStart", cupti_.cuptiRangeProfilerStart(&params));
  return open_;
}

std::vector<std::uint8_t> RangeSession::partition() const {
  if (!cupti_.cuptiRangeProfilerGetDevicePartitionInfo) return {};
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_GetDevicePartitionInfo_Params);
  params.pRangeProfilerObject = object_;
  const auto ask = [&] {
    return cupti_.try_("cuptiRangeProfilerGetDevicePartitionInfo",
                       cupti_.cuptiRangeProfilerGetDevicePartitionInfo(&params));
  };
  if (!ask() || params.devicePartitionInfoSize == 0) return {};
  std::vector<std::uint8_t> info(params.devicePartitionInfoSize);
  params.pDevicePartitionInfo = info.data();
  if (!ask()) return {};
  return info;
}

bool RangeSession::stop() {
  const Busy busy(watch_, "cuptiRangeProfilerStop");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Stop_Params);
  params.pRangeProfilerObject = object_;
  open_ = false;
  return call("cuptiRangeProfilerStop", cupti_.cuptiRangeProfilerStop(&params));
}

bool RangeSession::push(const char* range) {
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PushRange_Params);
  params.pRangeProfilerObject = object_;
  params.pRangeName = range;
  return call("cuptiRangeProfilerPushRange", cupti_.cuptiRangeProfilerPushRange(&params));
}

bool RangeSession::pop() {
  const Busy busy(watch_, "cuptiRangeProfilerPopRange");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PopRange_Params);
  params.pRangeProfilerObject = object_;
  return call("cuptiRangeProfilerPopRange", cupti_.cuptiRangeProfilerPopRange(&params));
}

std::optional<std::uint64_t> RangeSession::decode() {
  const Busy busy(watch_, "cuptiRangeProfilerDecodeData");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
  params.pRangeProfilerObject = object_;
  if (!call("cuptiRangeProfilerDecodeData", cupti_.cuptiRangeProfilerDecodeData(&params))) {
    return std::nullopt;
  }
  return params.numOfRangeDropped;
}

}  // namespace gpuprof::collect
