// Kernels by correlation id, for records that tell more about one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

struct MeasuredKernel {
  std::int64_t name;  // string id
  std::int64_t device;
  std::int64_t duration;  // ns
  bool wanted;            // passes the session's filter
};

// Reads the tables of kernels once, in the order of correlation ids: memory does not grow with
// them. Belongs to one thread.
class MeasuredKernels {
 public:
  explicit MeasuredKernels(Session& session);

  // Each id must be greater than the one before. Of several kernels it is the last, one of
  // CONCURRENT_KERNEL before one of KERNEL; nullptr: there is none. Valid until the next call.
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
