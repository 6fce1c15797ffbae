// The account of a device: where its time went, in parts that cover a window and do not overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "libprof/compute/account_parts.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/compute/idle_times.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// In ns on CUPTI's clock. Of a run, it reaches from its first call or GPU work to the end of its
// last.
struct AccountWindow {
  std::int64_t first = INT64_MAX, last = INT64_MIN;

  void add(std::int64_t begin, std::int64_t end);
  // Those that have times.
  void add(const columns::Column& begin, const columns::Column& end);
  bool is_empty() const { return first >= last; }
  std::int64_t length() const { return last - first; }
};

// What is known of a device in a window.
struct DeviceFacts {
  const DeviceTime::Parts& parts;
  const DeviceIdle& idle;
  std::int64_t before = 0, after = 0;  // its first and last work, ns
};

// The durations add up to `length`, that of the window.
std::vector<AccountPart> account_of(const DeviceFacts& device, std::int64_t length);

struct Accounts {
  AccountWindow window;
  std::map<std::int64_t, std::vector<AccountPart>> devices;  // all with timed work in the file
};

// Accounts of these windows, which are in order and do not overlap, or else Error. Reads all GPU
// work and API calls once, or in large files what is not in whole AccountBlocks. Memory: the gaps
// of what is read. `check` is called now and then and may throw; `has_read`, unless it is empty,
// once no more is read.
std::vector<Accounts> read_accounts(store::Snapshot& snapshot, std::span<const TimeBounds> windows,
                                    const std::function<void()>& check,
                                    const std::function<void()>& has_read = {});
Accounts read_accounts(store::Snapshot& snapshot, const TimeBounds& window,
                       const std::function<void()>& check,
                       const std::function<void()>& has_read = {});

}  // namespace gpuprof::compute
