// What the host was in while a device had no work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libprof/derive/device_time.hpp"

namespace gpuprof::derive {

// For the gaps of one device: the call of the process whose work ended the gap that took most of
// it. One thread.
class HostCalls {
 public:
  struct Call {
    std::int64_t correlation = 0;  // 0: there is none
    std::int64_t time = 0;         // of the gap, ns
  };

  // In the order of time; they do not overlap.
  explicit HostCalls(std::span<const Gap> gaps);

  void add(std::int64_t process, std::int64_t begin, std::int64_t end, std::int64_t correlation);
  // By the gaps' places. Nothing may be added afterwards.
  std::span<const Call> finish();

 private:
  struct Whole {
    std::int64_t process, begin, end, correlation;
    std::int64_t length() const { return end - begin; }
  };
  // Those from `first` on that the call lies in, `most` at most. How many they were.
  std::size_t take(const Whole& call, std::size_t most);
  std::size_t first_after(std::int64_t time);

  std::span<const Gap> gaps_;
  std::vector<Call> calls_;
  std::size_t latest_ = 0;
  std::vector<Whole> long_;  // calls that lie in many gaps: the longest, a heap with the shortest
};

}  // namespace gpuprof::derive
