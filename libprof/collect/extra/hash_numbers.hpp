// Numbers for hashes: that of a hash is its place in a table, from 1. Any thread, without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuprof::collect {

template <std::size_t capacity>
class HashNumbers {
 public:
  // `hash` is not 0. 0: there is no place for it.
  std::uint32_t number_of(std::uint64_t hash) {
    for (std::size_t step = 0; step < most_steps; ++step) {
      const std::size_t at = (hash + step) % capacity;
      std::uint64_t there = places_[at].hash.load(std::memory_order_relaxed);
      if (there == 0) places_[at].hash.compare_exchange_strong(there, hash);
      if (there == 0 || there == hash) return static_cast<std::uint32_t>(at + 1);
    }
    return 0;
  }

  // The same for a hash that has a number; 0: it has none.
  std::uint32_t find(std::uint64_t hash) const {
    for (std::size_t step = 0; step < most_steps; ++step) {
      const std::size_t at = (hash + step) % capacity;
      const std::uint64_t there = places_[at].hash.load(std::memory_order_relaxed);
      if (there == hash) return static_cast<std::uint32_t>(at + 1);
      if (there == 0) break;
    }
    return 0;
  }

  // Whether somebody describes, or has described, what the number stands for.
  bool is_taken(std::uint32_t number) const {
    return places_[number - 1].taken.load(std::memory_order_relaxed);
  }
  // true: the caller describes it.
  bool take(std::uint32_t number) { return !places_[number - 1].taken.exchange(true); }
  // The caller could not: the next one tries.
  void give_back(std::uint32_t number) { places_[number - 1].taken.store(false); }

  // Nobody may use the numbers meanwhile.
  void clear() {
    for (Place& place : places_) {
      place.hash.store(0, std::memory_order_relaxed);
      place.taken.store(false, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t most_steps = 64;

  struct Place {
    std::atomic<std::uint64_t> hash{0};
    std::atomic<bool> taken{false};
  };

  std::array<Place, capacity> places_;
};

}  // namespace gpuprof::collect
