#include "libprof/cupti/hw_trace.hpp"

#include <algorithm>
#include <array>

namespace gpuprof::cupti {
namespace {

struct Chips {
  std::string_view prefix;  // of CUPTI's names
  std::string_view objection;
};

// The first line that fits counts.
constexpr std::array chips{
    Chips{"GV", "it needs a Blackwell GPU"},
    Chips{"TU", "it needs a Blackwell GPU"},
    Chips{"GA", "it needs a Blackwell GPU"},
    Chips{"AD", "it needs a Blackwell GPU"},
    Chips{"GH", "it needs a Blackwell GPU"},
    // https://github.com/NVIDIA-NeMo/RL/issues/4090: SIGSEGV on GB200 with Nsight Systems.
    Chips{"GB1", "programs crashed with it on GB200 (NVIDIA-NeMo/RL#4090)"},
    Chips{"GB20", ""},
    // https://github.com/NVIDIA/srt-slurm/issues/418: SIGSEGV of copies on the device on VR200.
    Chips{"", "programs crashed with it on VR200 (NVIDIA/srt-slurm#418)"},
};

// Before, it could crash in cudaGraphInstantiate, and memory grew with each kernel (CUPTI's release
// notes, 13.4 Update 1). https://github.com/pytorch/pytorch/pull/195844 names NVIDIA's bug 6274883.
constexpr std::uint32_t first_sound_version = 130500;

std::string dotted(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string hw_trace_objection(std::string_view chip, std::uint32_t cupti_version,
                               int driver_version) {
  if (chip.empty()) return "CUPTI does not say which chip it is";
  const auto line =
      std::ranges::find_if(chips, [&](const Chips& each) { return chip.starts_with(each.prefix); });
  if (!line->objection.empty()) {
    return std::string(line->objection) + "; the chip is " + std::string(chip);
  }
  if (cupti_version < first_sound_version) {
    return "programs crashed with it before CUPTI 13.5";
  }
  // 130500 and 13050.
  const auto cupti_cuda = static_cast<int>(cupti_version / 100 * 10);
  if (driver_version < cupti_cuda) {
    return "the driver is older than CUPTI, for CUDA " + dotted(driver_version);
  }
  return {};
}

bool is_hw_trace_refusal(CUptiResult result) {
  constexpr std::array refusals{
      CUPTI_ERROR_NOT_SUPPORTED,
      CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
      CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
      CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED,
      CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
      CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED,
      CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED,
      CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS,
  };
  return std::ranges::find(refusals, result) != refusals.end();
}

}  // namespace gpuprof::cupti
