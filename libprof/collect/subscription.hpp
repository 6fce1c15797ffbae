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

#include "libprof/collect/checked_api.hpp"

namespace gpuprof::collect {

class Subscription {
 public:
  struct Refusal {
    std::string why;
    bool second_client = false;  // CUPTI has another subscriber
  };

  explicit Subscription(CheckedApi& cupti) : cupti_(cupti) {}

  // Loads the copies that are named, one a line, until the driver takes one; "mapped" is one that
  // the target has loaded. Nothing: that is the copy we have, and we have subscribed.
  std::optional<Refusal> open(std::string_view copies, CUpti_CallbackFunc callback);

  bool is_open() const { return subscriber_ != nullptr; }

  // What enable() will ask for: launches of kernels, contexts, cuProfilerStart and Stop, CUPTI's
  // own end, and what is wanted besides.
  struct Wanted {
    bool modules = false;
    bool module_ends = false;
    bool graph_launches = false;
    bool captures = false;  // of streams
    bool nvtx_ranges = false;
    bool memory_calls = false;
  };
  void want(Wanted wanted);
  // `driver_up`: CUPTI has a driver to pass it on to; otherwise it is asked for again later, so
  // that a refusal means nothing yet.
  void enable(bool driver_up);
  // Callbacks of contexts alone, and of modules.
  void rest(bool modules);
  // No callbacks any more.
  void end();

 private:
  void add(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids);

  CheckedApi& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;  // null: none
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> wanted_;
};

}  // namespace gpuprof::collect
