#include "libprof/collect/thread_slots.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "libprof/base/clock.hpp"

namespace gpuprof::collect {
namespace {

// Each trace has a number of its own, since what a thread remembers of one is not of another.
constinit std::atomic<std::uint64_t> traces{0};

std::uint64_t system_now() { return static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)); }

// Whether CUPTI's times are those of the system's clock: they are in all versions seen. A reading
// of one lies between two of the other, unless the clock was set meanwhile.
bool is_system_clock(CheckedApi& cupti) {
  if (!cupti.cuptiGetTimestamp) return true;
  for (int tries = 0; tries < 3; ++tries) {
    std::uint64_t there = 0;
    const std::uint64_t before = system_now();
    if (!cupti.try_("cuptiGetTimestamp", cupti.cuptiGetTimestamp(&there))) return true;
    if (before <= there && there <= system_now()) return true;
  }
  return false;
}

}  // namespace

constinit thread_local ThreadSlots::Thread ThreadSlots::thread_;

void ThreadSlots::begin(CheckedApi& cupti, bool system_thread_ids) {
  const std::lock_guard lock(leaving_);
  system_thread_ids_ = system_thread_ids;
  process_ = static_cast<std::uint32_t>(getpid());
  timestamp_ = is_system_clock(cupti) ? nullptr : cupti.cuptiGetTimestamp;
  // It never changes; a thread of the program may be between two records.
  if (slot_size_ == 0) slot_size_ = arena_.call_slot_size();
  costs_.begin();
  clock_.begin();
  // Without it, slots of ended threads stay in use until the trace ends.
  if (!has_key_) has_key_ = pthread_key_create(&key_, &thread_ends) == 0;
  trace_.store(++traces, std::memory_order_release);
}

std::uint64_t ThreadSlots::cuptis_now() const {
  std::uint64_t there = 0;
  return timestamp_(&there) == CUPTI_SUCCESS ? there : clock_.now();
}

void ThreadSlots::begin_thread(Thread& thread) const {
  // The slots of an earlier trace were given back.
  thread.has_slot = false;
  thread.trace = trace();
  const auto number = static_cast<std::uint64_t>(syscall(SYS_gettid));
  thread.is_first = number == process_;
  thread.stack_of = 0;
  thread.clones = {};
  thread.launched = thread.nccl = {};
  thread.id = static_cast<std::uint32_t>(system_thread_ids_ ? number : pthread_self());
}

bool ThreadSlots::next_slot(Thread& thread, std::size_t size) {
  if (size > slot_size_) return false;
  if (thread.has_slot) {
    thread.header->state.store(SlotState::calls_done, std::memory_order_release);
    thread.has_slot = false;
  }
  const auto slot = arena_.lend_calls({.process = process_, .thread = thread.id});
  if (!slot) return false;
  thread.bytes = arena_.slot(*slot);
  thread.header = &arena_.slot_header(*slot);
  thread.used = 0;
  ++thread.turn;
  thread.has_slot = true;
  if (has_key_) pthread_setspecific(key_, this);
  return true;
}

void ThreadSlots::leave_out_this_thread() { thread_.left_out = true; }

// The key's value is the ThreadSlots.
void ThreadSlots::thread_ends(void* slots) noexcept {
  auto& self = *static_cast<ThreadSlots*>(slots);
  const auto has_slot = [&] { return thread_.has_slot && thread_.trace == self.trace(); };
  // In the child of a fork nobody may ever unlock it.
  if (!has_slot()) return;
  const std::lock_guard lock(self.leaving_);
  if (!has_slot()) return;
  thread_.has_slot = false;
  thread_.header->state.store(SlotState::calls_done, std::memory_order_release);
}

}  // namespace gpuprof::collect
