#include "libprof/collect/subscription.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/text.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "libprof/collect/extra/memory_calls.hpp"

namespace gpuprof::collect {
namespace {

// Contexts: to synchronize at exit, and to know when the driver is up.
constexpr CUpti_CallbackId context_events[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
};
constexpr CUpti_CallbackId module_events[] = {CUPTI_CBID_RESOURCE_MODULE_LOADED};
constexpr CUpti_CallbackId module_ends[] = {CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};
// CUPTI's last message before it shuts itself down. Older versions have no such domain.
constexpr CUpti_CallbackId state_events[] = {CUPTI_CBID_STATE_FATAL_ERROR};
constexpr CUpti_CallbackId survived_events[] = {CUPTI_CBID_STATE_ERROR, CUPTI_CBID_STATE_WARNING};
constexpr CUpti_CallbackId driver_events[] = {CUPTI_CBID_RESOURCE_CU_INIT_FINISHED};

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
      // Subscribing shows whether the driver accepts this copy.
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

void Subscription::want(Wanted wanted) {
  wanted_.clear();
  for (auto& domain : uses_) {
    for (auto& use : domain) use.fetch_and(shared, std::memory_order_relaxed);
  }
  for (auto& domain : other_uses_) {
    for (auto& use : domain) use.fetch_and(shared, std::memory_order_relaxed);
  }
  unused_.store(false);
  always_launches_ = wanted.launches;
  add(CUPTI_CB_DOMAIN_RESOURCE, context_events);
  if (wanted.modules) add(CUPTI_CB_DOMAIN_RESOURCE, module_events);
  if (wanted.module_ends) add(CUPTI_CB_DOMAIN_RESOURCE, module_ends);
  if (wanted.graph_nodes) add(CUPTI_CB_DOMAIN_RESOURCE, graph_node_events);
  add(CUPTI_CB_DOMAIN_DRIVER_API, profiler_calls);
  if (wanted.launches) add(CUPTI_CB_DOMAIN_DRIVER_API, kernel_launches);
  if (wanted.module_ends) add(CUPTI_CB_DOMAIN_DRIVER_API, module_unloads);
  if (wanted.graph_launches) add(CUPTI_CB_DOMAIN_DRIVER_API, graph_launches);
  if (wanted.captures) {
    add(CUPTI_CB_DOMAIN_DRIVER_API, capture_begins);
    add(CUPTI_CB_DOMAIN_DRIVER_API, capture_ends);
  }
  if (wanted.green_contexts) add(CUPTI_CB_DOMAIN_DRIVER_API, green_calls);
  if (wanted.memory_calls) {
    for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
      add(domain, memory_calls(domain));
    }
  }
  add(CUPTI_CB_DOMAIN_STATE, state_events);
  if (wanted.hw_trace) {
    add(CUPTI_CB_DOMAIN_STATE, survived_events);
    add(CUPTI_CB_DOMAIN_RESOURCE, driver_events);
  }
}

void Subscription::want_graph_nodes() {
  const std::pair wanted{CUPTI_CB_DOMAIN_RESOURCE, graph_node_events[0]};
  if (std::ranges::find(wanted_, wanted) != wanted_.end()) return;
  add(CUPTI_CB_DOMAIN_RESOURCE, graph_node_events);
  for (const CUpti_CallbackId id : graph_node_events) {
    enable_one(CUPTI_CB_DOMAIN_RESOURCE, id, true);
  }
}

void Subscription::add(CUpti_CallbackDomain domain, std::span<const CUpti_CallbackId> ids) {
  for (const CUpti_CallbackId id : ids) {
    wanted_.emplace_back(domain, id);
    if (auto* const use = use_of(domain, id)) use->fetch_or(handled);
    if (auto* const use = other_use_of(domain, id)) use->fetch_or(handled);
  }
}

void Subscription::enable(bool driver_up) {
  const auto again = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    // Off first: CUPTI would not pass on to the driver what it considers enabled already.
    cupti_.cuptiEnableCallback(0, subscriber_, domain, id);
    enable_one(domain, id, driver_up);
  };
  for (const auto& [domain, id] : wanted_) again(domain, id);
  for (const CUpti_CallbackId id : kernel_launches) {
    if (!always_launches_ && uses_of(CUPTI_CB_DOMAIN_DRIVER_API, id) & handled) {
      again(CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }
  for (const Calls& calls : calls_) {
    for (const CUpti_CallbackId id : calls.ids) {
      if (uses_of(calls.domain, id) & (calls.use | heard)) again(calls.domain, id);
    }
  }
  for_each_shared(again);
}

void Subscription::enable_one(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool driver_up) {
  if (auto* const use = use_of(domain, id)) use->fetch_or(called_back);
  const CUptiResult result = cupti_.cuptiEnableCallback(1, subscriber_, domain, id);
  // Older versions have fewer domains and functions.
  if (driver_up) cupti_.try_("cuptiEnableCallback", result, {CUPTI_ERROR_INVALID_PARAMETER});
}

void Subscription::enable_calls(int kind, bool on) {
  for (const Calls& calls : calls_) {
    if (calls.kind != kind) continue;
    for (const CUpti_CallbackId id : calls.ids) {
      on ? add_use(calls.domain, id, calls.use) : remove_uses(calls.domain, id, calls.use | heard);
    }
  }
}

bool Subscription::stop_recording(bool request_work) {
  bool some = false;
  for (const Calls& calls : calls_) {
    if (calls.use != recorded || calls.request_work != request_work) continue;
    for (const CUpti_CallbackId id : calls.ids) {
      if (!(uses_of(calls.domain, id) & recorded)) continue;
      some = true;
      if (request_work) add_use(calls.domain, id, heard);
      remove_uses(calls.domain, id, recorded);
    }
  }
  return some;
}

void Subscription::add_use(CUpti_CallbackDomain domain, CUpti_CallbackId id, Use use) {
  if (!(uses_[domain][id].fetch_or(use) & called_back)) enable_one(domain, id, false);
}

void Subscription::remove_uses(CUpti_CallbackDomain domain, CUpti_CallbackId id, int uses) {
  const auto others = static_cast<std::uint8_t>(~uses);
  if ((uses_[domain][id].fetch_and(others) & others) == called_back) unused_.store(true);
}

void Subscription::trace_launches(bool on) {
  if (always_launches_) return;
  for (const CUpti_CallbackId id : kernel_launches) {
    on ? add_use(CUPTI_CB_DOMAIN_DRIVER_API, id, handled)
       : remove_uses(CUPTI_CB_DOMAIN_DRIVER_API, id, handled);
  }
}

void Subscription::disable_unused() {
  unused_.store(false);
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (CUpti_CallbackId id = 0; id < most_functions; ++id) {
      std::uint8_t unused = called_back;
      if (uses_[domain][id].compare_exchange_strong(unused, 0)) {
        cupti_.cuptiEnableCallback(0, subscriber_, domain, id);
      }
    }
  }
}

void Subscription::disable() {
  disable_wanted();
  disable_unused();
  if (!cupti_.cuptiEnableDomain) return;
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_STATE}) {
    cupti_.cuptiEnableDomain(0, subscriber_, domain);
  }
}

void Subscription::disable_wanted() {
  for (const auto& [domain, id] : std::exchange(wanted_, {})) {
    if (use_of(domain, id)) {
      remove_uses(domain, id, handled);
      continue;
    }
    auto* const use = other_use_of(domain, id);
    const bool wanted = use && use->fetch_and(static_cast<std::uint8_t>(~handled)) & shared;
    if (!wanted) cupti_.cuptiEnableCallback(0, subscriber_, domain, id);
  }
}

void Subscription::rest(bool modules) {
  disable_wanted();
  disable_unused();
  add(CUPTI_CB_DOMAIN_RESOURCE, context_events);
  if (modules) {
    add(CUPTI_CB_DOMAIN_RESOURCE, module_events);
    add(CUPTI_CB_DOMAIN_RESOURCE, module_ends);
  }
  enable(false);
}

CUptiResult Subscription::share(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  if (use_of(domain, id)) {
    on ? add_use(domain, id, shared) : remove_uses(domain, id, shared);
    return CUPTI_SUCCESS;
  }
  auto* const use = other_use_of(domain, id);
  if (!use) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::uint8_t before =
      on ? use->fetch_or(shared) : use->fetch_and(static_cast<std::uint8_t>(~shared));
  if (before & handled || bool(before & shared) == on) return CUPTI_SUCCESS;
  return cupti_.cuptiEnableCallback(on, subscriber_, domain, id);
}

CUptiResult Subscription::share_domain(CUpti_CallbackDomain domain, bool on) {
  if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (CUpti_CallbackId id = 1; id < most_functions; ++id) {
    // Not every number belongs to a callback.
    if (any_use_of(domain, id) && shares(domain, id) != on) share(domain, id, on);
  }
  return CUPTI_SUCCESS;
}

void Subscription::forget_shared() {
  constexpr auto others = static_cast<std::uint8_t>(~shared);
  for (auto& domain : uses_) {
    for (auto& use : domain) use.fetch_and(others, std::memory_order_relaxed);
  }
  for (auto& domain : other_uses_) {
    for (auto& use : domain) use.fetch_and(others, std::memory_order_relaxed);
  }
}

void Subscription::end() {
  if (!subscriber_) return;
  cupti_.try_("cuptiUnsubscribe", cupti_.cuptiUnsubscribe(std::exchange(subscriber_, nullptr)));
}

}  // namespace gpuprof::collect
