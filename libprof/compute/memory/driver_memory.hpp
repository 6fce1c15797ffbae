// Turns what --track-memory recorded in addition to CUPTI's records (schema/memory_calls.hpp) into
// operations for the sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/compute/memory/sweep.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::memory {

// A memory call. Trivially copyable, to be sorted on disk.
struct MemoryCall {
  enum class What : std::int32_t {
    other,
    create,
    release,
    map,
    unmap,
    retain,
    import_handle,
    register_host,
    unregister_host,
    open,
    close,
  };

  std::int64_t time = 0, process = 0, device = 0;
  std::int64_t address = 0, handle = 0, bytes = 0;
  std::int64_t correlation = 0, owner = 0;
  What what = What::other;
  bool of_host = false;

  bool operator<(const MemoryCall& other) const { return time < other.time; }
};

// Device memory from cuMemCreate, which exists as long as it has a handle or a mapping.
struct VirtualUse {
  std::int64_t process = 0, device = 0;
  std::int64_t made = 0, mapped = 0;            // bytes, at the end
  std::int64_t made_peak = 0, mapped_peak = 0;  // bytes
  std::int64_t unmapped_peak = 0;               // maximum of created but unmapped bytes
  std::int64_t allocations = 0;
};

// Derives allocations and releases from calls in time order. Knows nothing about files.
class DriverMemory {
 public:
  // `call`: the one that caused the operation.
  using Emit = std::function<void(const Operation& operation, const MemoryCall& call)>;

  // `mapped` receives addresses where memory from cuMemCreate is mapped or unmapped.
  explicit DriverMemory(Emit emit, Emit mapped = {})
      : emit_(std::move(emit)), mapped_(std::move(mapped)) {}

  void apply(const MemoryCall& call);
  // Mapped memory is counted with its allocation: memory mapped twice counts once.
  std::vector<VirtualUse> uses() const;

 private:
  struct Object {
    std::int64_t process = 0, device = 0;
    std::int32_t kind = 0;
    std::int64_t bytes = 0, mapped = 0;
    std::int64_t handles = 0, mappings = 0;
  };
  struct Mapping {
    std::int64_t object = 0, bytes = 0;
  };

  void make(const MemoryCall& call);
  void unmap(const MemoryCall& call);
  void let_go(std::int64_t object, const MemoryCall& call);
  void change(const Object& object, std::int64_t made, std::int64_t mapped);
  void tell_mapping(const Object& object, std::int64_t address, std::int64_t bytes,
                    Operation::What what, const MemoryCall& call);

  Emit emit_, mapped_;
  std::int64_t last_object_ = 0;
  std::map<std::int64_t, Object> objects_;
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, and handle or address
  std::map<Key, std::int64_t> handles_;               // objects
  std::map<Key, Mapping> mappings_;
  std::map<Key, std::int64_t> registered_;  // bytes
  std::map<Key, VirtualUse> uses_;          // by process and device
};

struct FailedCall {
  bool runtime = false;
  std::int64_t cbid = 0, process = 0, time = 0;
  std::optional<std::int64_t> bytes, device;
};

struct CallsRead {
  bool any = false;  // the file has such calls or driver readings from --track-memory
  std::vector<VirtualUse> uses;
  std::vector<FailedCall> failed;  // out of memory; the first ones only
  std::int64_t failures = 0;       // total
};

CallsRead read_memory_calls(store::Snapshot& snapshot, const DriverMemory::Emit& emit,
                            const std::function<void()>& check,
                            const DriverMemory::Emit& mapped = {});

// Memory in use according to the driver.
struct DeviceReading {
  std::int64_t time = 0, device = 0, used = 0, total = 0;
  std::int64_t reason = 0;
};
// In time order; for a long run only a selection: those with most in use and those of failures.
std::vector<DeviceReading> read_device_memory(store::Snapshot& snapshot,
                                              const std::function<void()>& check);

// A period in which memory appeared, and the call that overlaps most of it.
struct Appeared {
  std::int64_t from = 0, to = 0, device = 0, bytes = 0;
  bool runtime = false;
  std::int64_t cbid = -1, process = 0;  // cbid -1: no call
  std::int64_t overlap = 0;             // ns
};
void find_calls(store::Snapshot& snapshot, std::vector<Appeared>& appeared,
                const std::function<void()>& check);

}  // namespace gpuprof::memory
