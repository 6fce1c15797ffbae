// Kernels by correlation id, for records that add details about a kernel.
#pragma once

#include <array>
#include <cstdint>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

struct MeasuredKernel {
  std::int64_t name;  // string id
  std::int64_t device;
  std::int64_t duration;  // ns
  bool wanted;            // passes the session's filter
};

// Reads the kernel tables once, in order of correlation id, in constant memory. Not thread-safe.
class MeasuredKernels {
 public:
  explicit MeasuredKernels(Session& session);

  // Ids must increase from call to call. If several kernels have the id, returns the last one,
  // preferring CONCURRENT_KERNEL to KERNEL; nullptr if none. Valid until the next call.
  const MeasuredKernel* find(std::int64_t correlation_id);

 private:
  struct Cursor {
    store::Statement rows;
    bool there;
  };

  std::array<Cursor, 2> cursors_;
  MeasuredKernel kernel_ = {};
};

}  // namespace gpuprof::report
