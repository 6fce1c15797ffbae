// The least that measuring each launch with CUPTI's range profiler can take: batches of launches as
// ranges, decoded and thrown away. What scripts/bench_metrics holds gpuprof against.
//
// Loaded through CUDA_INJECTION64_PATH. BARE_CUPTI names the libcupti, BARE_CHIP the chip,
// BARE_METRICS the metrics, with commas in between, of one pass, and BARE_BATCH how many launches
// are in a batch. Prints at the end how many launches were measured, and the milliseconds that
// CUPTI took.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/text.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "libprof/cupti/api.hpp"
#include "libprof/cupti/host.hpp"

using namespace gpuprof;

namespace {

cupti::Api api;
std::future<cupti::Image> config;  // planned while the program starts

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#define PARAMS(type) cupti::sized<type>(type##_STRUCT_SIZE)

// One context, one thread.
class Session {
 public:
  void launch_begins(CUcontext context) {
    if (failed_ || ended_) return;
    const double begin = now_ms();
    if (!object_) {
      step("cannot begin", first_start(context));
      first_ += now_ms() - begin;
    } else if (in_batch_ == 0) {
      step("cannot start", start());
      more_ += now_ms() - begin;
    }
    ++in_batch_;
    ++launches_;
  }
  void launch_ends() {
    if (failed_ || ended_ || in_batch_ < batch_) return;
    const double begin = now_ms();
    step("cannot stop", stop());
    more_ += now_ms() - begin;
  }

  // Of the context, or of the process, whichever is first.
  void end() {
    const double begin = now_ms();
    if (!object_ || failed_ || std::exchange(ended_, true)) return;
    if (in_batch_ > 0) step("cannot stop at the end", stop());
    auto params = PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = object_;
    step("cannot disable", api.cuptiRangeProfilerDisable(&params) == CUPTI_SUCCESS);
    std::fprintf(stderr,
                 "bare ranges: %d launches in batches of %d; ms: plan %.0f, first start %.0f, "
                 "other stops and "
                 "starts %.0f, end %.0f\n",
                 launches_, batch_, plan_ms, first_, more_, now_ms() - begin);
  }

  static inline double plan_ms = 0;

 private:
  void step(const char* what, bool good) {
    if (good || failed_) return;
    failed_ = true;
    std::fprintf(stderr, "bare ranges: %s\n", what);
  }

  bool first_start(CUcontext context) {
    image_ = config.get();
    if (image_.empty()) return false;
    auto initialize = PARAMS(CUpti_Profiler_Initialize_Params);
    api.cuptiProfilerInitialize(&initialize);
    auto enable = PARAMS(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context;
    if (api.cuptiRangeProfilerEnable(&enable) != CUPTI_SUCCESS) return false;
    object_ = enable.pRangeProfilerObject;

    std::vector<const char*> names;
    const std::vector<std::string> metrics = split(variable("BARE_METRICS"), ',');
    for (const std::string& metric : metrics) names.push_back(metric.c_str());
    auto size = PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(batch_);
    if (api.cuptiRangeProfilerGetCounterDataSize(&size) != CUPTI_SUCCESS) return false;
    fresh_.resize(size.counterDataSize);
    auto empty = PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    empty.pRangeProfilerObject = object_;
    empty.counterDataSize = fresh_.size();
    empty.pCounterData = fresh_.data();
    if (api.cuptiRangeProfilerCounterDataImageInitialize(&empty) != CUPTI_SUCCESS) return false;
    return start();
  }

  bool start() {
    // An image that was emptied has to be configured anew.
    data_ = fresh_;
    auto set = PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    set.pRangeProfilerObject = object_;
    set.configSize = image_.size();
    set.pConfig = image_.data();
    set.counterDataImageSize = data_.size();
    set.pCounterDataImage = data_.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = static_cast<std::uint32_t>(batch_);
    set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
    if (api.cuptiRangeProfilerSetConfig(&set) != CUPTI_SUCCESS) return false;
    auto params = PARAMS(CUpti_RangeProfiler_Start_Params);
    params.pRangeProfilerObject = object_;
    return api.cuptiRangeProfilerStart(&params) == CUPTI_SUCCESS;
  }

  bool stop() {
    in_batch_ = 0;
    auto params = PARAMS(CUpti_RangeProfiler_Stop_Params);
    params.pRangeProfilerObject = object_;
    auto decode = PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = object_;
    return api.cuptiRangeProfilerStop(&params) == CUPTI_SUCCESS &&
           api.cuptiRangeProfilerDecodeData(&decode) == CUPTI_SUCCESS &&
           decode.numOfRangeDropped == 0;
  }

  const int batch_ = std::max(std::atoi(variable("BARE_BATCH").c_str()), 1);
  CUpti_RangeProfiler_Object* object_ = nullptr;
  cupti::Image image_, fresh_, data_;  // the configuration; counter data without and with ranges
  bool failed_ = false, ended_ = false;
  int in_batch_ = 0, launches_ = 0;
  double first_ = 0, more_ = 0;
};

Session& session() {
  static Session the_one;
  return the_one;
}

void CUPTIAPI called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return session().end();
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  call.callbackSite == CUPTI_API_ENTER ? session().launch_begins(call.context)
                                       : session().launch_ends();
}

cupti::Image plan() {
  const double begin = now_ms();
  const auto library =
      std::make_shared<const cupti::HostLibrary>(std::vector{variable("BARE_CUPTI")});
  const cupti::HostChip chip(library, variable("BARE_CHIP"));
  const auto image = chip.config_image(split(variable("BARE_METRICS"), ','));
  Session::plan_ms = now_ms() - begin;
  return image.value_or(cupti::Image());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  std::string error;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (!cupti::open(variable("BARE_CUPTI").c_str(), api, error) ||
      api.cuptiSubscribe(&subscriber, &called_back, nullptr) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "bare ranges: no CUPTI: %s\n", error.c_str());
    return 1;
  }
  session();
  config = std::async(std::launch::async, [] {
    try {
      return plan();
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "bare ranges: %s\n", problem.what());
      return cupti::Image();
    }
  });
  for (const CUpti_CallbackId id : collect::kernel_launches) {
    api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                          CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  std::atexit([] { session().end(); });
  return 1;
}
