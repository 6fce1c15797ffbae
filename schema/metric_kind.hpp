// How nvprof stores metric values; in a separate header because many files only pass it on.
#pragma once

namespace gpuprof::schema {

// How nvprof stores and shows a metric's value: 8 bytes, a double or an unsigned number.
enum class MetricKind {
  unknown,      // an unknown id: its bytes may be anything
  real,         // double
  count,        // unsigned; includes all events
  percent,      // 0 to 100, double
  throughput,   // bytes per second, unsigned
  utilization,  // 0 to 10, unsigned, in the first 4 bytes
};

}  // namespace gpuprof::schema
