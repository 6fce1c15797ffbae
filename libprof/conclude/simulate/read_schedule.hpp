// What the parts of read_schedule() share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/base/large_vector.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/conclude/simulate/schedule.hpp"

namespace gpuprof::simulate {

// Of gaps up to this length nothing is known of what the host did, ns. As in the rule launch_bound.
inline constexpr std::int64_t longest_short_gap = 50'000;
// A thread that made no call for this long, while another one of its process did, waited for it.
inline constexpr std::int64_t shortest_pause = 100'000;
// A launch waits for others to be over once this number is waiting in its stream: the driver has
// room for 1,024.
inline constexpr std::uint32_t full_queue = 900;
// Of what is not recorded, a stream can have waited only for work that was over this soon before,
// ns.
inline constexpr std::int64_t longest_reaction = 50'000;

// An API call that launched work, waited, or recorded an event. There can be many millions.
struct Call {
  // Of more threads, which a forged file may have, all are the last one.
  static constexpr std::uint32_t last_thread = (1 << 20) - 1;

  std::int64_t correlation = 0, begin = 0;
  std::uint64_t length : bits_of_length = 0;
  std::uint64_t thread : 20 = 0;

  std::int64_t end() const { return begin + static_cast<std::int64_t>(length); }
};
static_assert(sizeof(Call) == 24);

// A wait, or an event that was recorded, as CUPTI has it.
struct Synchronization {
  // CUpti_ActivitySynchronizationType, and our own for an event that was recorded.
  enum Type : std::int32_t {
    record = 0,
    of_event = 1,
    stream_for_event = 2,
    of_stream = 3,
    of_context = 4
  };
  std::int64_t correlation = 0, process = 0;
  std::int64_t stream = 0;  // with its context, as in GpuWork
  std::int64_t recording = 0;
  std::int32_t type = 0;
};

// Numbers from 0 on for keys as they come. The latest key is found at once.
template <class Key, class Hash>
class Numbers {
 public:
  std::uint32_t of(const Key& key) {
    if (any_ && key == latest_) return number_;
    latest_ = key;
    any_ = true;
    number_ = numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
    return number_;
  }
  // `none` if the key never came.
  std::uint32_t find(const Key& key) const {
    const auto found = numbers_.find(key);
    return found == numbers_.end() ? none : found->second;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<Key, std::uint32_t, Hash> numbers_;
  Key latest_{};
  std::uint32_t number_ = 0;
  bool any_ = false;
};

using TwoNumbers = std::pair<std::int64_t, std::int64_t>;
struct HashTwo {
  std::size_t operator()(const TwoNumbers& two) const {
    const auto mixed = static_cast<std::uint64_t>(two.first) * 0x9e3779b97f4a7c15U ^
                       static_cast<std::uint64_t>(two.second);
    return static_cast<std::size_t>((mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15U);
  }
};

// What is read before it becomes a schedule. Indexes are those of the schedule.
struct Read {
  Schedule schedule;
  LargeVector<std::int64_t> correlations;  // by work
  LargeVector<std::uint32_t> before;       // by work: the work before it in its stream, or none
  LargeVector<std::uint32_t> calls_of;     // by work: in `calls`, or none
  Numbers<std::int64_t, std::hash<std::int64_t>> devices, processes;
  Numbers<TwoNumbers, HashTwo> streams;   // process, stream
  Numbers<TwoNumbers, HashTwo> contexts;  // process, context
  Numbers<TwoNumbers, HashTwo> threads;   // process, thread
  std::vector<std::uint32_t> context_of;  // by stream
  std::vector<std::uint32_t> process_of;  // by thread
  LargeVector<Call> calls;                // by correlation id, one for each
  std::vector<Synchronization> synchronizations;

  std::int64_t launched(std::uint32_t work) const {
    return calls_of[work] == none ? schedule.works[work].begin : calls[calls_of[work]].begin;
  }
  const Call* find_call(std::int64_t correlation) const;
};

using Check = std::function<void()>;

// In this order.
void read_works(store::Snapshot& snapshot, Read& read, const Check& check);
// Fills in what pinned memory would do for the devices' copies.
void read_pinned(store::Snapshot& snapshot, Read& read);
void read_stream_flags(store::Snapshot& snapshot, Read& read, const Check& check);
void read_synchronizations(store::Snapshot& snapshot, Read& read, const Check& check);
// Also the calls in the longest gaps.
void read_calls(store::Snapshot& snapshot, Read& read, const Check& check);
void join_launches(Read& read);

// Whether the call that asked for a copy waited for it, or, if the memory is pageable, until most
// of it was done.
bool is_waited_for(const Read& read, std::uint32_t work);
// Of the works of a stream up to this one, the latest that was launched before a time and over by
// another; `none` also if it is not among the last `most`.
std::uint32_t find_before(const Read& read, std::uint32_t work, std::int64_t launched_before,
                          std::int64_t over_by, std::uint32_t most = 2 * full_queue);

}  // namespace gpuprof::simulate
