// The account of a device: where its time went, in parts that cover a window and do not overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  std::int64_t length() const { return last - first; }
};

// What is known of a device in a window.
struct DeviceFacts {
  const DeviceTime& time;
  const DeviceIdle& idle;
  std::int64_t before = 0, after = 0;  // its first and last work, ns
  std::int64_t gap_count = 0;          // more than those of `idle` if these are only the longest
};

struct AccountPart {
  std::string_view what;  // DEVICE_ACCOUNT.class
  // Of a copy its direction, CUpti_ActivityMemcpyKind; of a call and a launch the function, as in
  // HostCall, and 0 for those that are not distinguished and between launches; 1 for work that was
  // queued for an event; otherwise 0.
  std::int64_t cause = 0;
  std::int64_t duration = 0;
  std::int64_t intervals = 0;
  std::string place = {};  // of no call: what the host did, in words; empty: not known

  // Whether the cause is a function.
  bool is_of_function() const { return cause != 0 && (what == "call" || what == "launch"); }
};

// The durations add up to `length`, that of the window.
std::vector<AccountPart> account_of(const DeviceFacts& device, std::int64_t length);

struct Accounts {
  AccountWindow window;
  std::map<std::int64_t, std::vector<AccountPart>> devices;  // all with timed work in the file
};

// Accounts of these windows, which are in order and do not overlap, or else Error. Reads all GPU
// work and API calls once. Memory: the gaps of all windows. `check` is called now and then and may
// throw; `has_read`, unless it is empty, once no more is read.
std::vector<Accounts> read_accounts(store::Snapshot& snapshot, std::span<const TimeBounds> windows,
                                    const std::function<void()>& check,
                                    const std::function<void()>& has_read = {});
Accounts read_accounts(store::Snapshot& snapshot, const TimeBounds& window,
                       const std::function<void()>& check,
                       const std::function<void()>& has_read = {});

}  // namespace gpuprof::compute
