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

  // What enable() will request: contexts, cuProfilerStart and Stop, CUPTI's own end, and whatever
  // else is wanted.
  struct Wanted {
    bool launches = false;  // of kernels, also while nothing is traced
    bool modules = false;
    bool module_ends = false;
    bool graph_launches = false;
    bool captures = false;  // of streams
    bool green_contexts = false;
    bool memory_calls = false;
    bool graph_nodes = false;
    bool hw_trace = false;  // when the driver is up, and errors that CUPTI survives
  };
  void want(Wanted wanted);
  // While callbacks are enabled: also for nodes of graphs.
  void want_graph_nodes();

  // What a callback is for, as bits.
  enum Use : std::uint8_t {
    handled = 1,        // want() asked for it
    recorded = 2,       // the call gets a record
    waits = 4,          // the call waits, and that gets a record
    heard = 8,          // nothing; but the work that the call requests has its correlation id
    placed = 16,        // where in the program's code the call is
    shared = 32,        // another client of CUPTI wants it
    called_back = 128,  // CUPTI calls back, whether or not that has a use
  };
  // Functions that the collector records itself, so that CUPTI's activity kind stays off.
  struct Calls {
    int kind;
    CUpti_CallbackDomain domain;
    std::vector<CUpti_CallbackId> ids;
    Use use;
    bool request_work = false;  // of the GPU
  };
  // What enable_calls() will request as well, any number of times.
  void want_calls(std::vector<Calls> calls) { calls_ = std::move(calls); }
  void enable_calls(int kind, bool on);
  // Launches of kernels are handled while something is traced.
  void trace_launches(bool on);
  // Records no more calls of those that request work of the GPU, or of those that do not; the
  // former are heard. false: none were recorded.
  bool stop_recording(bool request_work);
  // The uses of a callback for a function of the runtime or the driver. Any thread.
  std::uint8_t uses_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
    return id < most_functions ? uses_[domain][id].load(std::memory_order_relaxed)
                               : std::uint8_t{handled};
  }

  // `driver_up`: CUPTI has a driver to pass the request on to; otherwise it will be repeated later,
  // and a refusal means nothing yet.
  void enable(bool driver_up);
  // Callbacks that have no use any more go on until disable_unused(): where CUPTI has them disabled
  // while a thread is inside of the call, it believes the call to go on forever (Tracing).
  bool has_unused() const { return unused_.load(std::memory_order_relaxed); }
  void disable_unused();
  // No callbacks at all. Without this before end(), CUPTI keeps them enabled, and crashes when
  // somebody subscribes while other threads are in calls (seen with 13.5).
  void disable();
  // Only callbacks for contexts, and for modules if asked.
  void rest(bool modules);
  // Ends all callbacks.
  void end();

  // Callbacks that another client of CUPTI in the process wants (share/sharing.hpp), while we are
  // the subscriber. Any thread.
  CUptiResult share(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
  CUptiResult share_domain(CUpti_CallbackDomain domain, bool on);
  bool shares(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
    const auto* const use = any_use_of(domain, id);
    return use && use->load(std::memory_order_relaxed) & shared;
  }
  // After end().
  void forget_shared();
  template <class F>
  void for_each_shared(F&& f) const {
    for (std::size_t domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
      for (CUpti_CallbackId id = 0; id < most_functions; ++id) {
        const auto of = static_cast<CUpti_CallbackDomain>(domain);
        if (shares(of, id)) f(of, id);
      }
    }
  }

 private:
  static constexpr std::size_t most_functions = 2048;
  static constexpr std::size_t most_others = 128;  // callbacks of another domain

  std::atomic<std::uint8_t>* use_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    return domain < uses_.size() && id < most_functions ? &uses_[domain][id] : nullptr;
  }
  // Also of domains that are not the runtime's and the driver's.
  const std::atomic<std::uint8_t>* any_use_of(CUpti_CallbackDomain domain,
                                              CUpti_CallbackId id) const {
    if (domain < uses_.size()) return id < most_functions ? &uses_[domain][id] : nullptr;
    return domain < other_uses_.size() && id < most_others ? &other_uses_[domain][id] : nullptr;
  }
  std::atomic<std::uint8_t>* other_use_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const bool known = domain >= uses_.size() && domain < other_uses_.size() && id < most_others;
    return known ? &other_uses_[domain][id] : nullptr;
  }
  void disable_wanted();
  void add(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids);
  void enable_one(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool driver_up);
  void add_use(CUpti_CallbackDomain domain, CUpti_CallbackId id, Use use);
  void remove_uses(CUpti_CallbackDomain domain, CUpti_CallbackId id, int uses);

  CheckedApi& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;  // null: none
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> wanted_;
  std::vector<Calls> calls_;
  bool always_launches_ = false;
  std::atomic<bool> unused_{false};  // some callbacks have no use
  // By domain: of the runtime's and the driver's functions.
  std::array<std::array<std::atomic<std::uint8_t>, most_functions>, CUPTI_CB_DOMAIN_RUNTIME_API + 1>
      uses_{};
  // By domain, of those that are not functions: handled and shared.
  std::array<std::array<std::atomic<std::uint8_t>, most_others>, CUPTI_CB_DOMAIN_SIZE>
      other_uses_{};
};

}  // namespace gpuprof::collect
