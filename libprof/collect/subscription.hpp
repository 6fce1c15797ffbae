// Our subscription as CUPTI's one subscriber: the copy of CUPTI to use, and the callbacks to
// enable.
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

#include "libprof/collect/checked_api.hpp"

namespace gpuprof::collect {

class Subscription {
 public:
  struct Refusal {
    std::string why;
    bool second_client = false;  // CUPTI has another subscriber
  };

  explicit Subscription(CheckedApi& cupti) : cupti_(cupti) {}

  // Loads the copies listed in `copies`, one per line, until the driver accepts one; "mapped" means
  // one that the target has loaded. nullopt: we have subscribed to the loaded copy.
  std::optional<Refusal> open(std::string_view copies, CUpti_CallbackFunc callback);

  bool is_open() const { return subscriber_ != nullptr; }

  // What enable() will request: launches of kernels, contexts, cuProfilerStart and Stop, CUPTI's
  // own end, and whatever else is wanted.
  struct Wanted {
    bool modules = false;
    bool module_ends = false;
    bool graph_launches = false;
    bool captures = false;  // of streams
    bool nvtx_ranges = false;
    bool memory_calls = false;
  };
  void want(Wanted wanted);
  // `driver_up`: CUPTI has a driver to pass the request on to; otherwise it will be repeated later,
  // and a refusal means nothing yet.
  void enable(bool driver_up);
  // Only callbacks for contexts, and for modules if asked.
  void rest(bool modules);
  // Ends all callbacks.
  void end();

 private:
  void add(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids);

  CheckedApi& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;  // null: none
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> wanted_;
};

}  // namespace gpuprof::collect
