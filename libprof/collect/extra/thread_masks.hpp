// The process's threads, and which signals they block, as the kernel says.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace gpuprof::collect {

struct SignalMasks {
  std::uint64_t blocked = 0, pending = 0;
  // It waits with another mask than its own, which is not in `blocked` then.
  bool changed = false;
  // `blocked` is its own mask for certain: it was asleep in a call that leaves the mask alone.
  bool is_own = false;
  std::uint64_t waits = 0;  // how often it has gone to sleep

  bool blocks(int signal) const { return changed || has(blocked, signal); }
  bool has_pending(int signal) const { return has(pending, signal); }
  static bool has(std::uint64_t mask, int signal) { return (mask >> (signal - 1)) & 1; }
};

// false: they cannot be listed.
bool each_thread(const std::function<void(pid_t)>& use);
// nullopt: there is no such thread.
std::optional<SignalMasks> masks_of(pid_t thread);

// Whether a thread lets a signal through, from what was seen of it. A thread that has waited for
// the signal itself, with sigwait say, has the mask of that call until it gets a processor, and the
// kernel does not say so: it looks like a thread that runs. So a mask that may be another's is
// believed only if the thread has been seen with it again and again while it ran.
class MaskSightings {
 public:
  enum class Finding { lets_through, blocks, not_known };
  // `ran`: the thread's processor time.
  Finding add(const SignalMasks& masks, int signal, std::chrono::nanoseconds ran);
  // Whether a thread with this processor time may be seen doing something else than before.
  bool may_be_new(std::chrono::nanoseconds ran) const;
  // Many sightings were of no use: it takes long.
  bool is_slow() const { return sightings_ > enough; }

 private:
  // Without a wait in between the thread has made no call that changes its mask and comes back.
  static constexpr int enough_without_wait = 3;
  static constexpr int enough = 8, enough_if_blocked = 64;

  bool blocked_ = false;  // it was seen to block the signal
  int sightings_ = 0, without_wait_ = 0;
  std::uint64_t waits_ = 0;
  std::chrono::nanoseconds ran_{};
};

}  // namespace gpuprof::collect
