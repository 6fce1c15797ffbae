// Accounts of blocks of a run: table ACCOUNT_BLOCK, by which the account of a long time is computed
// without reading what is in the middle of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "libprof/base/time_spans.hpp"
#include "libprof/compute/account.hpp"
#include "libprof/compute/account_parts.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/compute/idle_times.hpp"
#include "libprof/compute/row_groups.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Of one device. A block ends where a gap ends, so that no work, gap or interval is in two.
struct AccountBlock {
  std::int64_t begin = 0, end = 0;      // ns on CUPTI's clock
  std::vector<AccountPart> parts = {};  // they add up to the block
};

// How much work there is in a block, of all devices: so they end their blocks at nearly the same
// time.
struct BlockSize {
  std::int64_t works;
  std::int64_t seen = 0;  // so far
};

// The account of a device during a run. Memory: that of DeviceTime, and some hundred bytes per
// block.
class DeviceAccount {
 public:
  // `size.works` of 0: the whole is one block.
  DeviceAccount(IdleTimes& idle, BlockSize& size, std::int64_t device);
  DeviceAccount(const DeviceAccount&) = delete;
  DeviceAccount& operator=(const DeviceAccount&) = delete;

  // In start order.
  void add(const GpuWork& work) {
    ++size_.seen;
    time_.add(work);
  }
  // Call when all work has been added.
  void finish(AccountWindow& run);

  const DeviceTime& time() const { return time_; }
  std::size_t place() const { return place_; }  // in IdleTimes
  // In order, from the begin of the run to its end: the first and the last may be those before and
  // after all work. Call after finish() of both.
  std::vector<AccountBlock> blocks(const AccountWindow& run) const;

 private:
  struct Block {
    std::int64_t end;
    DeviceTime::Parts parts;
  };

  void end_block(std::int64_t time);

  IdleTimes& idle_;
  BlockSize& size_;
  const std::size_t place_;
  DeviceTime time_;
  std::int64_t begun_ = 0;  // what was seen when the current block began
  std::vector<Block> blocks_;
};

// The blocks of a run, as they are in a file.
class AccountBlocks {
 public:
  // None if they do not hold together, or without `groups`: rows were added or removed since.
  static AccountBlocks read(store::Database& database,
                            const std::optional<StoredRowGroups>& groups);

  bool empty() const { return devices_.empty(); }
  const AccountWindow& run() const { return run_; }
  std::vector<std::int64_t> devices() const;
  // Adds what the blocks within the window say of it. Returns the rest of it, up to two periods.
  std::vector<TimeSpan> add(std::int64_t device, const TimeSpan& window, AccountSum& sum) const;

 private:
  // False: it does not fit what is there.
  bool add(std::int64_t device, AccountBlock&& block);
  bool is_sound() const;

  AccountWindow run_;
  std::map<std::int64_t, std::vector<AccountBlock>> devices_;  // those with work in them
};

// Fills DEVICE_ACCOUNT, and ACCOUNT_BLOCK if it is wanted. Inside a transaction.
void write_accounts(store::Database& database, const std::map<std::int64_t, DeviceAccount>& devices,
                    const AccountWindow& run, bool with_blocks);

}  // namespace gpuprof::compute
