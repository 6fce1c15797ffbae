// Holds launches back for a moment. They wait no longer than `patience`: whoever closed the gate
// may be waiting for one of them.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace gpuprof::collect {

class LaunchGate {
 public:
  static constexpr std::chrono::milliseconds patience{1000};

  // A launch begins, on its thread. false: it proceeds anyway, and must not call leave().
  bool enter() {
    if (try_enter()) return true;
    const auto until = Clock::now() + patience;
    while (Clock::now() < until) {
      std::this_thread::sleep_for(pause);
      if (try_enter()) return true;
    }
    return false;
  }
  void leave() { inside_.fetch_sub(1); }
  bool any_inside() const { return inside_.load() > 0; }

  // While this exists, no launch begins and none is under way. Only one at a time. False if the
  // launches did not finish in time; they then go on.
  class Closed {
   public:
    explicit Closed(LaunchGate& gate) : gate_(gate) {
      const auto until = Clock::now() + patience / 2;
      gate_.closed_.store(true);
      while (gate_.any_inside() && Clock::now() < until) std::this_thread::sleep_for(pause);
      quiet_ = !gate_.any_inside();
    }
    ~Closed() { gate_.closed_.store(false); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    explicit operator bool() const { return quiet_; }

   private:
    LaunchGate& gate_;
    bool quiet_ = false;
  };

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds pause{50};

  bool try_enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return true;
    leave();
    return false;
  }

  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0};
};

}  // namespace gpuprof::collect
