// Our subscription as CUPTI's one subscriber: the copy of CUPTI to use, and the callbacks to
// enable.
//
// One thread at a time.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

  // Functions of one domain that are recorded by callbacks.
  struct Calls {
    CUpti_CallbackDomain domain;
    std::vector<CUpti_CallbackId> ids;
    bool rows = false;  // otherwise only for the correlation ids of the work that they request
  };
  // What enable_calls() will request as well; these may change any number of times.
  void want_calls(std::vector<Calls> calls);
  void enable_calls(CUpti_CallbackDomain domain, bool on);

  // What a callback is for.
  struct Use {
    bool handled;   // want() asked for it
    bool recorded;  // want_calls() did, and rows are wanted
  };
  // Any thread.
  Use use_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
    const std::uint8_t use =
        id < most_functions ? uses_[domain][id].load(std::memory_order_relaxed) : handled_;
    return {(use & handled_) != 0, (use & recorded_) != 0};
  }
  // `driver_up`: CUPTI has a driver to pass the request on to; otherwise it will be repeated later,
  // and a refusal means nothing yet.
  void enable(bool driver_up);
  // Only callbacks for contexts, and for modules if asked.
  void rest(bool modules);
  // Ends all callbacks.
  void end();

 private:
  static constexpr std::size_t most_functions = 2048;
  static constexpr std::uint8_t handled_ = 1, recorded_ = 2;

  void add(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids);
  // `again`: CUPTI would not pass on to the driver what it considers enabled already.
  void enable_one(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool again, bool driver_up);

  CheckedApi& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;  // null: none
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> wanted_;
  std::vector<Calls> calls_;
  std::array<std::atomic<bool>, CUPTI_CB_DOMAIN_SIZE> calls_on_{};
  // By domain: of the runtime's and the driver's functions.
  std::array<std::array<std::atomic<std::uint8_t>, most_functions>, CUPTI_CB_DOMAIN_RUNTIME_API + 1>
      uses_{};
};

}  // namespace gpuprof::collect
