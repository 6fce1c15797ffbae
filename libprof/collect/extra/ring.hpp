// A queue of fixed size from threads that must not wait to one consumer. No locks: push() returns
// false if there is no room. (D. Vyukov's bounded queue.)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace gpuprof::collect {

template <class T, std::size_t capacity>
class Ring {
  static_assert((capacity & (capacity - 1)) == 0);

 public:
  Ring() {
    for (std::size_t i = 0; i < capacity; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  // Any thread. false: full.
  bool push(const T& value) {
    std::size_t at = in_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[at % capacity];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == at) {
        if (!in_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        cell.value = value;
        cell.turn.store(at + 1, std::memory_order_release);
        return true;
      }
      if (static_cast<std::ptrdiff_t>(turn - at) < 0) return false;
      at = in_.load(std::memory_order_relaxed);
    }
  }

  // One thread at a time. false: empty.
  bool pop(T& value) {
    Cell& cell = cells_[out_ % capacity];
    if (cell.turn.load(std::memory_order_acquire) != out_ + 1) return false;
    value = cell.value;
    cell.turn.store(out_ + capacity, std::memory_order_release);
    ++out_;
    return true;
  }

 private:
  struct Cell {
    std::atomic<std::size_t> turn{0};
    T value{};
  };

  std::array<Cell, capacity> cells_;
  std::atomic<std::size_t> in_{0};
  std::size_t out_ = 0;
};

}  // namespace gpuprof::collect
