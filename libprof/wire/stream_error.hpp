// A problem with one stream that affects no other.
#pragma once

#include "libprof/base/error.hpp"

namespace gpuprof::wire {

// Thrown by readers of frames when the rest of the stream makes no sense. The stream ends there,
// which is reported and counted; the run goes on.
class StreamError : public Error {
 public:
  using Error::Error;
};

}  // namespace gpuprof::wire
