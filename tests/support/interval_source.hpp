// Intervals in memory as a source, for tests and benchmarks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "libprof/compute/intervals/merged.hpp"

namespace gpuprof::test {

// A chunk at a time. The intervals must outlive it.
class InMemory final : public intervals::IntervalSource {
 public:
  InMemory(intervals::Columns all, std::size_t chunk) : rest_(all), chunk_(chunk) {}
  intervals::Columns next() override {
    const std::size_t count = std::min(chunk_, rest_.size());
    const intervals::Columns chunk = rest_.part(0, count);
    rest_ = rest_.part(count, rest_.size() - count);
    return chunk;
  }

 private:
  intervals::Columns rest_;
  std::size_t chunk_;
};

}  // namespace gpuprof::test
