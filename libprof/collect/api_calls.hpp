// Which functions of the CUDA runtime and driver are traced. CUPTI knows them by number.
//
// Set up on one thread; then whoever holds Tracing's lock.
#pragma once

#include <cupti.h>

#include <vector>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/stream.hpp"

namespace gpuprof::collect {

// The functions that the running CUPTI knows, by their numbers.
std::vector<wire::ApiName> api_names(CheckedApi& cupti);

class ApiCalls {
 public:
  explicit ApiCalls(CheckedApi& cupti) : cupti_(cupti) {}

  // Finds the functions that only ask by the names that this CUPTI gives them, and tells which
  // those are; `trace_them`: none. A CUPTI that cannot tell, or cannot leave out single functions,
  // traces them all.
  void find_queries(bool trace_them, Stream& stream);
  // After RUNTIME or DRIVER was enabled: that overrides what was said of single functions.
  void leave_out(int kind);
  // GPU work has a correlation id only while the call that asks for it is traced. So these calls
  // are traced where their rows are not wanted.
  void trace_launches(bool on);

 private:
  // One function.
  void trace_runtime(CUpti_CallbackId id, bool on);
  void trace_driver(CUpti_CallbackId id, bool on);

  CheckedApi& cupti_;
  std::vector<CUpti_CallbackId> runtime_queries_;  // functions that are not traced
  std::vector<CUpti_CallbackId> driver_queries_;
};

}  // namespace gpuprof::collect
