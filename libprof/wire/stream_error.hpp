// What is wrong with one stream, and concerns no other.
#pragma once

#include "libprof/base/error.hpp"

namespace gpuprof::wire {

// Whoever reads a frame throws it when the stream makes no sense from here on. The stream ends
// there, which is told and counted; the run goes on.
class StreamError : public Error {
 public:
  using Error::Error;
};

}  // namespace gpuprof::wire
