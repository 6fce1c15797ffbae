// The clock in which a client of CUPTI wants its times, where that is not CUPTI's own.
//
// Both clocks are read now and then; between two readings time passes evenly. Its user locks.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuprof::collect {

class ClientClock {
 public:
  // Null: CUPTI's own clock.
  void choose(CUpti_TimestampCallbackFunc clock, decltype(&::cuptiGetTimestamp) cuptis);
  CUpti_TimestampCallbackFunc chosen() const { return clock_; }
  // Reads both clocks. Call before times are translated, and a few times a second.
  void read();
  // A time of CUPTI's in the client's clock. 0, which means none, stays 0.
  std::uint64_t of(std::uint64_t cuptis) const;

 private:
  struct Reading {
    std::uint64_t cuptis = 0;
    std::uint64_t clients = 0;
  };

  CUpti_TimestampCallbackFunc clock_ = nullptr;
  decltype(&::cuptiGetTimestamp) cuptis_ = nullptr;
  // In order of time; when it is full, the older half goes.
  std::array<Reading, 256> readings_{};
  std::size_t count_ = 0;
};

}  // namespace gpuprof::collect
