// CUPTI's one subscriber, which is us: with which copy of CUPTI, and to which callbacks.
//
// One thread at a time.
#pragma once

#include <cupti.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/cupti/api.hpp"

namespace gpuprof::collect {

class Subscription {
 public:
  struct Refusal {
    std::string why;
    bool second_client = false;  // CUPTI has another subscriber
  };

  // Loads the copies that are named, one a line, until the driver takes one; "mapped" is one that
  // the target has loaded. Nothing: `api` is that copy, and we have subscribed.
  std::optional<Refusal> open(std::string_view copies, cupti::Api& api,
                              CUpti_CallbackFunc callback);

  // What enable() will ask for.
  void want(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids);
  void enable();
  // No callbacks any more.
  void end();

 private:
  const cupti::Api* cupti_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;  // null: none
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> wanted_;
};

}  // namespace gpuprof::collect
