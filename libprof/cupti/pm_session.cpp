#include "libprof/cupti/pm_session.hpp"

#include <algorithm>
#include <utility>

#include "libprof/cupti/refused.hpp"

namespace gpuprof::cupti {

#define CHECKED(function, params)                                                              \
  if (const CUptiResult answer = api_.function(&(params)); answer != CUPTI_SUCCESS) {          \
    throw Refused(explained(api_, answer) + " (" #function " " + std::to_string(answer) + ")", \
                  answer);                                                                     \
  }

PmSession::PmSession(const Driver& driver, int device) : api_(driver.api) {
  auto params = sized<CUpti_PmSampling_Enable_Params>(CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
  params.deviceIndex = static_cast<std::size_t>(device);
  if (const CUptiResult result = api_.cuptiPmSamplingEnable(&params); result != CUPTI_SUCCESS) {
    // CUPTI also returns this for another process.
    const std::string why = result == CUPTI_ERROR_INVALID_OPERATION
                                ? explained(api_, CUPTI_ERROR_HARDWARE_BUSY)
                                : explained(api_, result);
    throw Refused(why + " (cuptiPmSamplingEnable " + std::to_string(result) + ")", result);
  }
  object_ = params.pPmSamplingObject;
}

PmSession::~PmSession() {
  if (started_) {
    auto stop = sized<CUpti_PmSampling_Stop_Params>(CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
    stop.pPmSamplingObject = object_;
    api_.cuptiPmSamplingStop(&stop);
  }
  auto params = sized<CUpti_PmSampling_Disable_Params>(CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  api_.cuptiPmSamplingDisable(&params);
}

void PmSession::configure(Image config, const PmSettings& settings) {
  config_ = std::move(config);
  auto params =
      sized<CUpti_PmSampling_SetConfig_Params>(CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.configSize = config_.size();
  params.pConfig = config_.data();
  params.hardwareBufferSize = settings.buffer_bytes;
  const bool by_time = settings.interval_ns != 0;
  params.samplingInterval = by_time ? settings.interval_ns : settings.interval_cycles;
  params.triggerMode = by_time ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL
                               : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
  params.hwBufferAppendMode = settings.keep_latest
                                  ? CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST
                                  : CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  CHECKED(cuptiPmSamplingSetConfig, params);
}

void PmSession::start() {
  auto params = sized<CUpti_PmSampling_Start_Params>(CUpti_PmSampling_Start_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  CHECKED(cuptiPmSamplingStart, params);
  started_ = true;
}

void PmSession::stop() {
  started_ = false;
  auto params = sized<CUpti_PmSampling_Stop_Params>(CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  CHECKED(cuptiPmSamplingStop, params);
}

std::size_t PmSession::image_bytes(const std::vector<std::string>& counters,
                                   std::uint32_t samples) const {
  std::vector<const char*> names;
  for (const std::string& counter : counters) names.push_back(counter.c_str());
  auto params = sized<CUpti_PmSampling_GetCounterDataSize_Params>(
      CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.pMetricNames = names.data();
  params.numMetrics = names.size();
  params.maxSamples = samples;
  CHECKED(cuptiPmSamplingGetCounterDataSize, params);
  return params.counterDataSize;
}

void PmSession::clear(std::vector<std::uint8_t>& image) const {
  auto params = sized<CUpti_PmSampling_CounterDataImage_Initialize_Params>(
      CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.counterDataSize = image.size();
  params.pCounterData = image.data();
  CHECKED(cuptiPmSamplingCounterDataImageInitialize, params);
}

PmSession::Decoded PmSession::decode(std::vector<std::uint8_t>& image) {
  auto params =
      sized<CUpti_PmSampling_DecodeData_Params>(CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  const CUptiResult result = api_.cuptiPmSamplingDecodeData(&params);
  // Either one signals a full buffer.
  if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) {
    throw Refused(
        explained(api_, result) + " (cuptiPmSamplingDecodeData " + std::to_string(result) + ")",
        result);
  }
  Decoded decoded{.image_full = params.decodeStopReason ==
                                CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL,
                  .overflow = result == CUPTI_ERROR_OUT_OF_MEMORY || params.overflow != 0};
  auto info = sized<CUpti_PmSampling_GetCounterDataInfo_Params>(
      CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = image.data();
  info.counterDataImageSize = image.size();
  CHECKED(cuptiPmSamplingGetCounterDataInfo, info);
  decoded.samples = info.numCompletedSamples;
  decoded.torn = info.numPopulatedSamples - std::min(info.numPopulatedSamples, decoded.samples);
  // Once CUPTI is far behind, it may return this forever (13.5, H200).
  const bool nothing = decoded.image_full && info.numPopulatedSamples == 0;
  given_nothing_ = nothing ? given_nothing_ + 1 : 0;
  if (given_nothing_ > 1) decoded.overflow = true;
  return decoded;
}

SampleTime PmSession::time_of(const std::vector<std::uint8_t>& image, std::size_t sample) const {
  auto params = sized<CUpti_PmSampling_CounterData_GetSampleInfo_Params>(
      CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
  params.pPmSamplingObject = object_;
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  params.sampleIndex = sample;
  CHECKED(cuptiPmSamplingCounterDataGetSampleInfo, params);
  return {params.startTimestamp, params.endTimestamp};
}

#undef CHECKED

Image available_counters(const Driver& driver, int device) {
  auto params = sized<CUpti_PmSampling_GetCounterAvailability_Params>(
      CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
  params.deviceIndex = static_cast<std::size_t>(device);
  const auto ask = driver.api.cuptiPmSamplingGetCounterAvailability;
  if (ask(&params) != CUPTI_SUCCESS) return {};
  Image image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  if (ask(&params) != CUPTI_SUCCESS) return {};
  return image;
}

bool samples_by_time(const std::string& chip) { return !chip.starts_with("TU") && chip != "GA100"; }

}  // namespace gpuprof::cupti
