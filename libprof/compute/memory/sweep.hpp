// Allocations and releases in time order: how much was in use, who owned it at the peak, and what
// was never released. Knows nothing about files.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace gpuprof::memory {

// Kinds of memory in addition to CUpti_ActivityMemoryKind.
inline constexpr std::int32_t created_kind = 1001;          // by cuMemCreate
inline constexpr std::int32_t registered_kind = 1002;       // on the host, by cuMemHostRegister
inline constexpr std::int32_t opened_kind = 1003;           // from another process, size unknown
inline constexpr std::int32_t created_on_host_kind = 1004;  // by cuMemCreate

// As in MEMORY2 and MEMORY_POOL. Trivially copyable, to be sorted on disk.
struct Operation {
  enum class What : std::int32_t {
    allocation,
    release,
    pool_created,
    pool_destroyed,
    pool_trimmed,
  };

  std::int64_t time = 0;  // ns
  std::int64_t process = 0, device = 0;
  std::int64_t address = 0, bytes = 0;
  std::int64_t owner = 0;       // any number that memory is attributed to
  std::int64_t pool = 0;        // address of the pool; 0: none
  std::int64_t pool_size = -1;  // bytes; -1: unknown
  std::int64_t pool_used = -1;  // bytes; -1: unknown
  std::int32_t kind = 0;        // CUpti_ActivityMemoryKind
  std::int32_t pool_type = 0;   // CUpti_ActivityMemoryPoolType
  What what = What::allocation;

  bool operator<(const Operation& other) const { return time < other.time; }
};

// Memory that is counted separately.
struct Place {
  std::int64_t process = 0, device = 0;
  std::int32_t kind = 0, pool_type = 0;
  auto operator<=>(const Place&) const = default;
};

// Whether a kind of memory is a device's rather than the host's.
bool on_device(std::int32_t kind);
// Whether it belongs to a static variable, which is never released.
bool is_static(std::int32_t kind);

struct Use {
  Place place;
  std::int64_t in_use = 0, live = 0;  // bytes and allocations at the end
  std::int64_t peak = 0;              // bytes
  std::int64_t peak_time = 0;         // when that was first reached
  std::int64_t peak_live = 0;         // allocations at that time
  std::int64_t allocations = 0, allocated = 0, releases = 0;
  std::int64_t unknown_releases = 0;  // memory was not live: allocated earlier, or released twice
  std::int64_t replaced = 0;          // an address was reallocated: its release was not recorded
  std::int64_t steady = 0, steady_bytes = 0;  // allocations in the steady state, outside pools
};

struct OwnerUse {
  std::size_t use = 0;  // index of Use
  std::int64_t owner = 0;
  std::int64_t at_peak = 0, at_peak_live = 0;  // at the place's peak
  std::int64_t in_use = 0, live = 0;
  std::int64_t peak = 0;  // the owner's own
  std::int64_t allocations = 0, allocated = 0;
};

// Why memory still exists at the end.
enum class Left {
  alive,          // no claim
  context_ended,  // its context ended before the process
  kept,           // allocated before the steady state
  lost,           // allocated in the steady state
};
std::string_view name_of(Left left);

// Allocations of the same size and owner that were never released.
struct Remaining {
  std::size_t use = 0;
  std::int64_t owner = 0;
  std::int64_t bytes = 0;  // of each
  Left left = Left::alive;
  std::int64_t count = 0;
  std::int64_t first = 0, last = 0;  // allocation times
  std::int64_t total() const;
};

// An allocation that was live at the peak of its place.
struct HeldAtPeak {
  std::size_t use = 0;
  std::int64_t bytes = 0, time = 0, owner = 0;  // `time`: of the allocation
};

// All processes together, each until it ended.
struct DeviceUse {
  std::int64_t device = 0;
  std::int64_t in_use = 0, peak = 0, peak_time = 0;
};

struct PoolUse {
  std::int64_t process = 0, device = 0, address = 0;
  std::int32_t type = 0;
  std::int64_t reserved = -1, used = -1;            // last known; -1: never known
  std::int64_t reserved_peak = -1, used_peak = -1;  // bytes
  std::int64_t unused_peak = -1;                    // maximum of reserved but unused bytes
  std::int64_t trims = 0, shrinks = 0, regrowths = 0;
  bool destroyed = false;
  bool shrunk = false;  // and has not grown since
};

// Memory in use over equal time slices.
struct Curve {
  std::size_t use = 0;
  struct Point {
    std::int64_t most = 0, last = 0;  // bytes: maximum in the slice, and at its end
  };
  std::vector<Point> points;
};

// A time at which a process's device memory is requested, or at which it ended. With a device: the
// memory of all processes on it, counting pools by what they reserve and without managed memory.
struct Moment {
  std::int64_t time = 0, process = 0;
  std::int64_t device = -1;  // -1: all devices
};

// A process's device memory at a moment, by owner.
struct OwnerShare {
  std::size_t use = 0;
  std::int64_t owner = 0;
  std::int64_t bytes = 0, live = 0;
};

struct Request {
  std::vector<Moment> moments = {};  // in time order
  std::vector<Moment> ends = {};     // of processes, in time order
  std::vector<Moment> looks = {};    // owners are wanted; in time order
  struct Steady {
    std::int64_t begin = 0, end = 0;
  };
  std::map<std::int64_t, Steady> steady = {};  // by process
  // Why memory allocated at that time still exists; null: no claim.
  std::function<Left(const Place&, std::int64_t time)> left = {};
  std::size_t held = 0;     // of each place: the largest allocations at the peak
  std::size_t points = 0;   // of each curve; 0: no curves
  std::size_t curves = 64;  // for the places with the highest peaks
};

struct Result {
  std::int64_t first = 0, last = 0;  // times of operations
  std::int64_t operations = 0;
  std::vector<Use> uses;             // by place
  std::vector<OwnerUse> owners;      // by use, largest share of the peak first
  std::vector<Remaining> remaining;  // largest total first
  std::vector<HeldAtPeak> held;      // as many as requested; by place, largest first
  std::vector<DeviceUse> devices;
  std::vector<PoolUse> pools;
  std::vector<Curve> curves;
  std::vector<std::int64_t> moments;           // as requested
  std::vector<std::vector<OwnerShare>> looks;  // as requested, largest share first
};

// `for_each` visits all operations in time order, and is called twice. Memory: the allocations live
// at a time, and the result.
using Operations = std::function<void(const std::function<void(const Operation&)>&)>;
Result sweep(const Operations& for_each, const Request& request);

}  // namespace gpuprof::memory
