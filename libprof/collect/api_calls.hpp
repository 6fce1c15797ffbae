// Selects the functions of the CUDA runtime and driver to trace, and how: by callbacks of ours
// (call_records.hpp) where that gives the same rows, otherwise by CUPTI's activity kinds. CUPTI
// identifies functions by number.
//
// Set up on one thread; afterwards used under Tracing's lock.
#pragma once

#include <cupti.h>

#include <set>
#include <string_view>
#include <vector>

#include "libprof/collect/call_records.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/collect/subscription.hpp"

namespace gpuprof::collect {

// The functions known to the running CUPTI, with their numbers.
std::vector<wire::ApiName> api_names(CheckedApi& cupti);

class ApiCalls {
 public:
  ApiCalls(CheckedApi& cupti, Subscription& subscription, CallRecords& records)
      : cupti_(cupti), subscription_(subscription), records_(records) {}

  struct Wanted {
    bool runtime = false;        // rows of runtime calls
    bool driver = false;         // rows of driver calls
    bool queries = false;        // rows of pure query functions too
    bool only_launches = false;  // no rows, but the correlation ids of work
    // Records that CUPTI makes only along with its own of calls.
    bool external_correlation = false;
    bool waits = false;        // rows of synchronizations
    bool cuda_events = false;  // whose ids only CUPTI knows
    bool places = false;       // where in the program's code each call is
  };
  // Finds the functions by the names this CUPTI reports, and tells the launcher which queries are
  // left out. A CUPTI that cannot report names or exclude single functions traces them all.
  void choose(const Wanted& wanted, Stream& stream);

  // Whether record() traces the kind; otherwise CUPTI's activity kind does.
  bool by_callbacks(int kind) const;
  // Turns tracing of RUNTIME, DRIVER or SYNCHRONIZATION on or off.
  void record(int kind, bool on);
  // Records no more calls of those that request work of the GPU, or of those that do not. false:
  // none were recorded, or CUPTI records them.
  bool stop_recording(bool request_work);
  // Call after enabling RUNTIME or DRIVER, which resets the settings of single functions, and after
  // disabling it.
  void enabled(int kind, bool on);
  // GPU work has a correlation id only while the call that requests it is traced, so these calls
  // are traced even if their rows are not wanted.
  void trace_launches(bool on);

 private:
  // Adds the functions that callbacks record. Returns the queries that are left out.
  std::set<std::string_view> find_functions(const Wanted& wanted,
                                            std::vector<Subscription::Calls>& chosen);
  void leave_out(int kind);
  // A single function.
  void trace_runtime(CUpti_CallbackId id, bool on);
  void trace_driver(CUpti_CallbackId id, bool on);

  CheckedApi& cupti_;
  Subscription& subscription_;
  CallRecords& records_;
  bool calls_by_callbacks_ = false;
  bool waits_by_callbacks_ = false;
  std::set<bool> not_recorded_;                    // as in stop_recording()
  std::vector<CUpti_CallbackId> runtime_queries_;  // functions that are not traced
  std::vector<CUpti_CallbackId> driver_queries_;
};

}  // namespace gpuprof::collect
