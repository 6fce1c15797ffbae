#include "libprof/compute/account_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {
namespace {

// All parts are of the class.
bool is_all(const AccountBlock& block, std::string_view what) {
  return std::ranges::all_of(block.parts,
                             [&](const AccountPart& part) { return part.what == what; });
}

}  // namespace

DeviceAccount::DeviceAccount(IdleTimes& idle, BlockSize& size, std::int64_t device)
    : idle_(idle), size_(size), place_(idle.add_place(device)), time_([this](const Gap& gap) {
        idle_.add_gap(place_, gap);
        if (size_.works > 0 && size_.seen - begun_ > size_.works) {
          end_block(gap.end);
          idle_.end_block(place_);
        }
      }) {}

void DeviceAccount::end_block(std::int64_t time) {
  blocks_.push_back({time, time_.take_parts()});
  begun_ = size_.seen;
}

void DeviceAccount::finish(AccountWindow& run) {
  time_.finish();
  end_block(time_.last());
  idle_.set_longest(place_, time_.gaps());
  run.add(time_.first(), time_.last());
}

std::vector<AccountBlock> DeviceAccount::blocks(const AccountWindow& run) const {
  std::vector<AccountBlock> all;
  const auto add_outside = [&](std::string_view what, std::int64_t begin, std::int64_t end) {
    if (begin < end) all.push_back({begin, end, {{what, 0, end - begin, 1}}});
  };
  add_outside("before", run.first, time_.first());
  std::int64_t begin = time_.first();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [end, parts] = blocks_[i];
    all.push_back({begin, end, account_of({parts, idle_.of(place_, i)}, end - begin)});
    begin = end;
  }
  add_outside("after", time_.last(), run.last);
  return all;
}

AccountBlocks AccountBlocks::read(store::Database& database,
                                  const std::optional<StoredRowGroups>& groups) {
  if (!groups) return {};
  constexpr const schema::Table& table = schema::tables::account_block;
  for (const schema::Column& column : table.columns) {
    if (!database.has_column(table.name, column.name)) return {};
  }
  constexpr std::size_t most_rows = std::size_t{1} << 20;
  AccountBlocks blocks;
  std::int64_t device = 0;
  AccountBlock block;
  const auto add = [&] { return block.parts.empty() || blocks.add(device, std::move(block)); };
  auto row = database.prepare(
      "SELECT deviceId, start, stop, class, domain, cause, duration, intervals "
      "FROM main.ACCOUNT_BLOCK ORDER BY deviceId, start, stop");
  for (std::size_t count = 0; row.step(); ++count) {
    if (count == most_rows) return {};
    const auto part = AccountPart::read(row, 3);
    if (!part) return {};
    const AccountBlock its{.begin = row.integer(1), .end = row.integer(2)};
    if (row.integer(0) != device || its.begin != block.begin || its.end != block.end) {
      if (!add()) return {};
      device = row.integer(0);
      block = its;
    }
    block.parts.push_back(*part);
  }
  return add() && blocks.is_sound() ? blocks : AccountBlocks();
}

bool AccountBlocks::add(std::int64_t device, AccountBlock&& block) {
  std::int64_t sum = 0;
  for (const AccountPart& part : block.parts) sum = saturating_add(sum, part.duration);
  if (block.begin < 0 || block.end <= block.begin || sum != block.end - block.begin) return false;
  run_.add(block.begin, block.end);
  std::vector<AccountBlock>& its = devices_[device];
  if (!its.empty() && its.back().end != block.begin) return false;
  its.push_back(std::move(block));
  return true;
}

bool AccountBlocks::is_sound() const {
  for (const auto& [device, blocks] : devices_) {
    if (blocks.front().begin != run_.first || blocks.back().end != run_.last) return false;
  }
  return true;
}

std::vector<std::int64_t> AccountBlocks::devices() const {
  std::vector<std::int64_t> devices;
  for (const auto& [device, blocks] : devices_) devices.push_back(device);
  return devices;
}

std::vector<TimeSpan> AccountBlocks::add(std::int64_t device, const TimeSpan& window,
                                         AccountSum& sum) const {
  std::span<const AccountBlock> blocks = devices_.at(device);
  if (is_all(blocks.front(), "before")) blocks = blocks.subspan(1);
  if (!blocks.empty() && is_all(blocks.back(), "after")) blocks = blocks.first(blocks.size() - 1);
  const TimeSpan work = blocks.empty() ? TimeSpan{run_.last, run_.last}
                                       : TimeSpan{blocks.front().begin, blocks.back().end};
  const auto add_outside = [&](std::string_view what, std::int64_t begin, std::int64_t end) {
    if (begin < end) sum.add({what, 0, end - begin, 1});
  };
  add_outside("before", window.begin, std::min(window.end, work.begin));
  add_outside("after", std::max(window.begin, work.end), window.end);
  std::vector<TimeSpan> rest;
  const auto add_rest = [&](std::int64_t begin, std::int64_t end) {
    if (begin < end) rest.push_back({begin, end});
  };
  const TimeSpan within{std::clamp(window.begin, work.begin, work.end),
                        std::clamp(window.end, work.begin, work.end)};
  const auto first = std::ranges::lower_bound(blocks, within.begin, {}, &AccountBlock::begin);
  const auto last =
      std::ranges::upper_bound(first, blocks.end(), within.end, {}, &AccountBlock::end);
  if (first == last) {
    add_rest(within.begin, within.end);
    return rest;
  }
  for (auto block = first; block != last; ++block) sum.add(block->parts);
  add_rest(within.begin, first->begin);
  add_rest(std::prev(last)->end, within.end);
  return rest;
}

void write_accounts(store::Database& database, const std::map<std::int64_t, DeviceAccount>& devices,
                    const AccountWindow& run, bool with_blocks) {
  constexpr const schema::Table& table = schema::tables::account_block;
  if (with_blocks) store::add_table(database, table);
  std::optional<store::Statement> insert_block;
  if (database.has_table(table.name)) insert_block = fill(database, table);
  store::Statement insert = fill(database, schema::tables::device_account);
  for (const auto& [number, device] : devices) {
    AccountSum all;
    for (const AccountBlock& block : device.blocks(run)) {
      all.add(block.parts);
      for (std::size_t i = 0; with_blocks && i < block.parts.size(); ++i) {
        insert_block->bind(1, number).bind(2, block.begin).bind(3, block.end);
        block.parts[i].bind(*insert_block, 4);
        insert_block->run();
      }
    }
    for (const AccountPart& part : all.parts()) {
      insert.bind(1, number);
      part.bind(insert, 2);
      insert.run();
    }
  }
}

}  // namespace gpuprof::compute
