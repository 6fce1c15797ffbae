// Memory allocated over time: tables MEMORY_USE, MEMORY_MAXIMUM, MEMORY_OWNER.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>

#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: what Sorted uses, and the allocations live at a time.
class MemoryUse {
 public:
  // `check` is called now and then and may throw.
  void read(store::Snapshot& snapshot, const std::function<void()>& check);
  // Fills the tables, inside the caller's transaction.
  void write(store::Database& database);

 private:
  // Memory that is counted separately.
  struct Place {
    std::int64_t process = 0, device = 0;
    std::int32_t kind = 0;  // CUpti_ActivityMemoryKind
    std::int32_t pool = 0;  // CUpti_ActivityMemoryPoolType
    auto operator<=>(const Place&) const = default;
  };
  struct Operation {
    std::int64_t time = 0;
    std::int64_t id = 0;  // MEMORY2._id_
    Place place;
    std::int64_t address = 0;
    std::int64_t change = 0;  // bytes; negative: released
    std::int32_t source = 0;  // StringTable id
    bool operator<(const Operation& other) const { return time < other.time; }
  };
  struct Peak {
    std::int64_t bytes = 0;
    std::int64_t operation = 0;  // 0: nothing was ever allocated
  };

  void write_use(store::Database& database);
  void write_peaks(store::Database& database);

  Sorted<Operation> operations_;
  std::map<Place, Peak> peaks_;
};

}  // namespace gpuprof::compute
