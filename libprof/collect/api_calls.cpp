#include "libprof/collect/api_calls.hpp"

#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/collect/driver_calls.hpp"
#include "schema/query_calls.hpp"

namespace gpuprof::collect {
namespace {

// A running CUPTI newer than our headers may have more functions than the counts in our headers.
constexpr std::uint32_t newer_functions = 256;

// Calls f(id, name) for each function of a domain with a number below `end`.
template <class F>
void for_each_function(CheckedApi& cupti, CUpti_CallbackDomain domain, std::uint32_t end, F&& f) {
  if (!cupti.cuptiGetCallbackName) return;
  for (std::uint32_t id = 1; id < end; ++id) {
    const char* name = nullptr;
    // Not every number belongs to a function.
    if (cupti.try_("cuptiGetCallbackName", cupti.cuptiGetCallbackName(domain, id, &name),
                   {CUPTI_ERROR_INVALID_PARAMETER}) &&
        name) {
      f(id, name);
    }
  }
}

bool requests_work(const char* name) {
  for (const char* part : {"Launch", "Memcpy", "Memset", "Prefetch", "Decompress"}) {
    if (std::strstr(name, part)) return true;
  }
  return false;
}

// CUPTI asks the driver for the name of each kernel launch it sees. That is not a call of the
// target's.
bool is_of_cupti(CUpti_CallbackDomain domain, std::uint32_t id) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuKernelGetName;
}

}  // namespace

std::vector<wire::ApiName> api_names(CheckedApi& cupti) {
  std::vector<wire::ApiName> names;
  const auto add = [&](CUpti_CallbackDomain domain, const char* text, std::uint32_t size) {
    for_each_function(cupti, domain, size + newer_functions,
                      [&](std::uint32_t id, const char* name) {
                        names.push_back({text, id, name});
                      });
  };
  add(CUPTI_CB_DOMAIN_RUNTIME_API, "runtime", CUPTI_RUNTIME_TRACE_CBID_SIZE);
  add(CUPTI_CB_DOMAIN_DRIVER_API, "driver", CUPTI_DRIVER_TRACE_CBID_SIZE);
  return names;
}

void ApiCalls::choose(const Wanted& wanted, Stream& stream) {
  // Driver calls that runtime calls make are known by callbacks of both.
  calls_by_callbacks_ = cupti_.cuptiGetCallbackName && !wanted.queries &&
                        !wanted.external_correlation && wanted.runtime == wanted.driver;
  waits_by_callbacks_ = wanted.waits && !wanted.cuda_events && cupti_.cuptiGetStreamIdEx;
  const bool rows = wanted.runtime || wanted.driver;
  std::vector<Subscription::Calls> chosen;
  std::set<std::string_view> left_out;
  if (rows || wanted.only_launches) left_out = find_functions(wanted, chosen);
  if (waits_by_callbacks_) {
    chosen.push_back({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                      CUPTI_CB_DOMAIN_DRIVER_API,
                      {waiting_calls.begin(), waiting_calls.end()},
                      Subscription::waits});
  }
  subscription_.want_calls(std::move(chosen));
  if (rows) stream.tell("calls_left_out", left_out.empty() ? "none" : joined(left_out, ","));
}

std::set<std::string_view> ApiCalls::find_functions(const Wanted& wanted,
                                                    std::vector<Subscription::Calls>& chosen) {
  not_recorded_.clear();
  runtime_queries_.clear();
  driver_queries_.clear();
  std::set<std::string_view> left_out;
  const auto find = [&](int kind, CUpti_CallbackDomain domain, std::uint32_t size, bool rows,
                        bool excludable, std::vector<CUpti_CallbackId>& queries) {
    rows = rows && !wanted.only_launches;
    const Subscription::Use use = rows ? Subscription::recorded : Subscription::heard;
    Subscription::Calls others{kind, domain, {}, use}, requests{kind, domain, {}, use, true};
    for_each_function(cupti_, domain, size + newer_functions,
                      [&](std::uint32_t id, const char* name) {
                        if (schema::only_asks(name)) {
                          if (wanted.queries || !excludable) return;
                          queries.push_back(id);
                          left_out.insert(schema::function_of(name));
                        } else if (requests_work(name)) {
                          requests.ids.push_back(id);
                        } else if (rows && !is_of_cupti(domain, id)) {
                          others.ids.push_back(id);
                        }
                      });
    if (wanted.places) {
      Subscription::Calls placed = others;
      placed.use = Subscription::placed;
      placed.ids.insert(placed.ids.end(), requests.ids.begin(), requests.ids.end());
      chosen.push_back(std::move(placed));
    }
    if (!calls_by_callbacks_) return;
    chosen.push_back(std::move(others));
    chosen.push_back(std::move(requests));
  };
  find(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
       wanted.runtime, calls_by_callbacks_ || cupti_.cuptiActivityEnableRuntimeApi,
       runtime_queries_);
  find(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
       wanted.driver, calls_by_callbacks_ || cupti_.cuptiActivityEnableDriverApi, driver_queries_);
  return left_out;
}

bool ApiCalls::by_callbacks(int kind) const {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return calls_by_callbacks_;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return waits_by_callbacks_;
    default: return false;
  }
}

void ApiCalls::record(int kind, bool on) {
  // A call that has begun or not returned now would have half a record.
  if (kind != CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) records_.forget_open_calls();
  subscription_.enable_calls(kind, on);
  for (const bool request_work : not_recorded_) subscription_.stop_recording(request_work);
}

bool ApiCalls::stop_recording(bool request_work) {
  if (!calls_by_callbacks_) return false;
  not_recorded_.insert(request_work);
  if (!subscription_.stop_recording(request_work)) return false;
  records_.forget_open_calls();
  return true;
}

void ApiCalls::enabled(int kind, bool on) {
  if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
  subscription_.enable_calls(kind, on);
  if (on) leave_out(kind);
}

void ApiCalls::leave_out(int kind) {
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    for (const CUpti_CallbackId id : runtime_queries_) trace_runtime(id, false);
  }
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER && cupti_.cuptiActivityEnableDriverApi) {
    trace_driver(CUPTI_DRIVER_TRACE_CBID_cuKernelGetName, false);
    for (const CUpti_CallbackId id : driver_queries_) trace_driver(id, false);
  }
}

void ApiCalls::trace_launches(bool on) {
  if (calls_by_callbacks_) {
    record(CUPTI_ACTIVITY_KIND_RUNTIME, on);
    return record(CUPTI_ACTIVITY_KIND_DRIVER, on);
  }
  subscription_.enable_calls(CUPTI_ACTIVITY_KIND_RUNTIME, on);
  subscription_.enable_calls(CUPTI_ACTIVITY_KIND_DRIVER, on);
  if (!cupti_.cuptiGetCallbackName || !cupti_.cuptiActivityEnableRuntimeApi ||
      !cupti_.cuptiActivityEnableDriverApi) {
    for (const auto kind : {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME}) {
      on ? cupti_.try_("cuptiActivityEnable", cupti_.cuptiActivityEnable(kind))
         : cupti_.try_("cuptiActivityDisable", cupti_.cuptiActivityDisable(kind));
    }
    return;
  }
  for_each_function(cupti_, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
                    [&](std::uint32_t id, const char* name) {
                      if (requests_work(name)) trace_runtime(id, on);
                    });
  for_each_function(cupti_, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
                    [&](std::uint32_t id, const char* name) {
                      if (requests_work(name)) trace_driver(id, on);
                    });
}

// A function unknown to the running version has no calls to trace either.
void ApiCalls::trace_runtime(CUpti_CallbackId id, bool on) {
  cupti_.try_("cuptiActivityEnableRuntimeApi", cupti_.cuptiActivityEnableRuntimeApi(id, on),
              {CUPTI_ERROR_INVALID_PARAMETER});
}

void ApiCalls::trace_driver(CUpti_CallbackId id, bool on) {
  cupti_.try_("cuptiActivityEnableDriverApi", cupti_.cuptiActivityEnableDriverApi(id, on),
              {CUPTI_ERROR_INVALID_PARAMETER});
}

}  // namespace gpuprof::collect
