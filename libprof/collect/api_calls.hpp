// Selects the functions of the CUDA runtime and driver to trace. CUPTI identifies them by number.
//
// Set up on one thread; afterwards used under Tracing's lock.
#pragma once

#include <cupti.h>

#include <vector>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/stream.hpp"

namespace gpuprof::collect {

// The functions known to the running CUPTI, with their numbers.
std::vector<wire::ApiName> api_names(CheckedApi& cupti);

class ApiCalls {
 public:
  explicit ApiCalls(CheckedApi& cupti) : cupti_(cupti) {}

  // Finds pure query functions by the names this CUPTI reports, and tells the launcher which those
  // are; none if `trace_them`. A CUPTI that cannot report names or exclude single functions traces
  // them all.
  void find_queries(bool trace_them, Stream& stream);
  // Call after enabling RUNTIME or DRIVER, which resets the settings of single functions.
  void leave_out(int kind);
  // GPU work has a correlation id only while the call that requests it is traced, so these calls
  // are traced even if their rows are not wanted.
  void trace_launches(bool on);

 private:
  // A single function.
  void trace_runtime(CUpti_CallbackId id, bool on);
  void trace_driver(CUpti_CallbackId id, bool on);

  CheckedApi& cupti_;
  std::vector<CUpti_CallbackId> runtime_queries_;  // functions that are not traced
  std::vector<CUpti_CallbackId> driver_queries_;
};

}  // namespace gpuprof::collect
