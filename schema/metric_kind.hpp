// How nvprof stores values of metrics. Apart from its lists of metrics, as many only hand it on.
#pragma once

namespace gpuprof::schema {

// How nvprof stores and shows a metric's value: 8 bytes, a double or an unsigned number.
enum class MetricKind {
  unknown,      // an id that is in no list: its bytes may be anything
  real,         // double
  count,        // unsigned; all events are
  percent,      // of 100, double
  throughput,   // bytes per second, unsigned
  utilization,  // 0 to 10, unsigned, in the first 4 bytes
};

}  // namespace gpuprof::schema
