#include "libprof/collect/subscription.hpp"

#include "libprof/base/driver_library.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::collect {
namespace {

std::vector<std::string> named(std::string_view copies) {
  std::vector<std::string> paths;
  for (std::string& path : split(copies, '\n')) {
    if (path == "mapped") path = cupti::mapped_copy();
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

std::optional<Subscription::Refusal> Subscription::open(std::string_view copies,
                                                        CUpti_CallbackFunc callback) {
  std::string reasons;
  for (const std::string& path : named(copies)) {
    std::string reason;
    if (cupti::open(path.c_str(), cupti_, reason)) {
      // Subscribing tells whether the driver takes this copy.
      const CUptiResult result = cupti_.cuptiSubscribe(&subscriber_, callback, nullptr);
      if (result == CUPTI_SUCCESS) return std::nullopt;
      subscriber_ = nullptr;
      const std::string text = cupti_.text(result);
      if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        return Refusal{"another profiler (" + text +
                           ") uses CUPTI in this process and only one can; run it without that one",
                       true};
      }
      reason = cupti_.path + ": " + text;
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  if (!driver_found()) return Refusal{no_driver_library};
  return Refusal{"no usable libcupti: " + (reasons.empty() ? "none was named" : reasons) +
                 " (choose one with --cupti PATH)"};
}

void Subscription::want(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids) {
  for (const CUpti_CallbackId id : ids) wanted_.emplace_back(domain, id);
}

void Subscription::enable(bool driver_up) {
  for (const auto& [domain, id] : wanted_) {
    // Off first: what CUPTI takes for on already it would not pass on to the driver.
    cupti_.cuptiEnableCallback(0, subscriber_, domain, id);
    const CUptiResult result = cupti_.cuptiEnableCallback(1, subscriber_, domain, id);
    // Older versions have fewer domains and functions.
    if (driver_up) cupti_.try_("cuptiEnableCallback", result, {CUPTI_ERROR_INVALID_PARAMETER});
  }
}

void Subscription::end() {
  if (!subscriber_) return;
  cupti_.try_("cuptiUnsubscribe", cupti_.cuptiUnsubscribe(std::exchange(subscriber_, nullptr)));
}

}  // namespace gpuprof::collect
