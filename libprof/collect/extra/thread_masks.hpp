// The process's threads, and which signals they block, as the kernel says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace gpuprof::collect {

struct SignalMasks {
  std::uint64_t blocked = 0, pending = 0;
  // It waits with another mask than its own, which is not in `blocked` then.
  bool changed = false;

  bool blocks(int signal) const { return changed || has(blocked, signal); }
  bool has_pending(int signal) const { return has(pending, signal); }
  static bool has(std::uint64_t mask, int signal) { return (mask >> (signal - 1)) & 1; }
};

// false: they cannot be listed.
bool each_thread(const std::function<void(pid_t)>& use);
// nullopt: there is no such thread.
std::optional<SignalMasks> masks_of(pid_t thread);

}  // namespace gpuprof::collect
