// Allocations and releases in the order of time: how much was in use, whose it was at the peak, and
// what was never released. Knows nothing of files.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuprof::memory {

// Kinds of memory beside CUpti_ActivityMemoryKind's.
inline constexpr std::int32_t created_kind = 1001;          // by cuMemCreate
inline constexpr std::int32_t registered_kind = 1002;       // of the host, by cuMemHostRegister
inline constexpr std::int32_t opened_kind = 1003;           // of another process, of unknown size
inline constexpr std::int32_t created_on_host_kind = 1004;  // by cuMemCreate

// As they are in MEMORY2 and MEMORY_POOL. Trivially copyable, to be sorted on disk.
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
  std::int64_t owner = 0;       // whatever the memory is to be told apart by
  std::int64_t pool = 0;        // address of the pool; 0: of none
  std::int64_t pool_size = -1;  // bytes; -1: not known
  std::int64_t pool_used = -1;  // bytes; -1: not known
  std::int32_t kind = 0;        // CUpti_ActivityMemoryKind
  std::int32_t pool_type = 0;   // CUpti_ActivityMemoryPoolType
  What what = What::allocation;

  bool operator<(const Operation& other) const { return time < other.time; }
};

// Memory that is counted for itself.
struct Place {
  std::int64_t process = 0, device = 0;
  std::int32_t kind = 0, pool_type = 0;
  auto operator<=>(const Place&) const = default;
};

// Whether a kind of memory is a device's, and not the host's.
bool on_device(std::int32_t kind);
// Whether it is of a static variable, which nobody releases.
bool is_static(std::int32_t kind);

struct Use {
  Place place;
  std::int64_t in_use = 0, live = 0;  // bytes and allocations; in the end
  std::int64_t peak = 0;              // bytes
  std::int64_t peak_time = 0;         // when it was so much first
  std::int64_t peak_live = 0;         // allocations then
  std::int64_t allocations = 0, allocated = 0, releases = 0;
  std::int64_t unknown_releases = 0;  // of what was not there: allocated before, or released twice
  std::int64_t replaced = 0;          // an address was allocated again: its release has no record
  std::int64_t steady = 0, steady_bytes = 0;  // allocations in the steady state, without a pool
};

struct OwnerUse {
  std::size_t use = 0;  // index of Use
  std::int64_t owner = 0;
  std::int64_t at_peak = 0, at_peak_live = 0;  // of the place's peak
  std::int64_t in_use = 0, live = 0;
  std::int64_t peak = 0;  // its own
  std::int64_t allocations = 0, allocated = 0;
};

// Why memory is still there in the end.
enum class Left {
  alive,          // nothing is claimed
  context_ended,  // its context ended before the process
  kept,           // since before the steady state
  lost,           // allocated in the steady state
};
std::string_view name_of(Left left);

// Allocations of one size and owner that were never released.
struct Remaining {
  std::size_t use = 0;
  std::int64_t owner = 0;
  std::int64_t bytes = 0;  // of each
  Left left = Left::alive;
  std::int64_t count = 0;
  std::int64_t first = 0, last = 0;  // when they were allocated
  std::int64_t total() const;
};

// All processes together, each until it ended.
struct DeviceUse {
  std::int64_t device = 0;
  std::int64_t in_use = 0, peak = 0, peak_time = 0;
};

struct PoolUse {
  std::int64_t process = 0, device = 0, address = 0;
  std::int32_t type = 0;
  std::int64_t reserved = -1, used = -1;            // last known; -1: never
  std::int64_t reserved_peak = -1, used_peak = -1;  // bytes
  std::int64_t unused_peak = -1;                    // the most that was reserved and not used
  std::int64_t trims = 0, shrinks = 0, regrowths = 0;
  bool destroyed = false;
  bool shrunk = false;  // and has not grown since
};

// How much is in use over equal parts of the time.
struct Curve {
  std::size_t use = 0;
  struct Point {
    std::int64_t most = 0, last = 0;  // bytes, in the part and at its end
  };
  std::vector<Point> points;
};

// When somebody wants to know how much device memory a process has; or when it ended. With a device
// what all processes have of that: pools with what they reserve, managed memory left out.
struct Moment {
  std::int64_t time = 0, process = 0;
  std::int64_t device = -1;  // -1: all devices
};

// Device memory that a process has at a moment, by owner.
struct OwnerShare {
  std::size_t use = 0;
  std::int64_t owner = 0;
  std::int64_t bytes = 0, live = 0;
};

struct Request {
  std::vector<Moment> moments = {};  // in the order of time
  std::vector<Moment> ends = {};     // of processes, in the order of time
  std::vector<Moment> looks = {};    // whose memory it was; in the order of time
  struct Steady {
    std::int64_t begin = 0, end = 0;
  };
  std::map<std::int64_t, Steady> steady = {};  // by process
  // Why what was allocated then is still there; null: nothing is claimed.
  std::function<Left(const Place&, std::int64_t time)> left = {};
  std::size_t points = 0;   // of each curve; 0: no curves
  std::size_t curves = 64;  // of those places with the highest peaks
};

struct Result {
  std::int64_t first = 0, last = 0;  // times of operations
  std::int64_t operations = 0;
  std::vector<Use> uses;             // by place
  std::vector<OwnerUse> owners;      // by use, those with most at the peak first
  std::vector<Remaining> remaining;  // most bytes first
  std::vector<DeviceUse> devices;
  std::vector<PoolUse> pools;
  std::vector<Curve> curves;
  std::vector<std::int64_t> moments;           // as asked for
  std::vector<std::vector<OwnerShare>> looks;  // as asked for, those with most first
};

// `for_each` gives all operations in the order of time, and is called twice. Memory: what is
// allocated at a time, and what the result has.
using Operations = std::function<void(const std::function<void(const Operation&)>&)>;
Result sweep(const Operations& for_each, const Request& request);

}  // namespace gpuprof::memory
