#include "libprof/compute/account.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/compute/account_blocks.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {
namespace {

// A tenth of 10 million records: with their schedule, findings are to take less than 500 MB.
constexpr std::size_t kept_bytes = std::size_t{8} << 20;

std::string_view name_of(DeviceTime::Activity activity) {
  switch (activity) {
    case DeviceTime::Activity::compute: return "compute";
    case DeviceTime::Activity::communication: return "communication";
    case DeviceTime::Activity::copy: return "copy";
    case DeviceTime::Activity::set: return "set";
  }
  return "";
}

// A device in a window, which is open at the sides that are not given.
class DeviceWindow {
 public:
  DeviceWindow(IdleTimes& idle, std::int64_t device, const TimeBounds& bounds)
      : idle_(idle),
        place_(idle.add_place(device, bounds)),
        from_(bounds.from),
        to_(bounds.to),
        time_([this](const Gap& gap) { idle_.add_gap(place_, gap); }) {}
  DeviceWindow(const DeviceWindow&) = delete;
  DeviceWindow& operator=(const DeviceWindow&) = delete;

  bool begins_before(std::int64_t time) const { return !from_ || *from_ < time; }
  bool ends_by(std::int64_t time) const { return to_ && *to_ <= time; }

  void add(GpuWork work) {
    if (from_ && work.end <= *from_) {
      worked_before_ = true;
    } else if (to_ && work.begin >= *to_) {
      if (!next_) next_ = work;
    } else {
      worked_before_ |= from_ && work.begin < *from_;
      if (from_) work.begin = std::max(work.begin, *from_);
      if (to_) work.end = std::min(work.end, *to_);
      if (!first_) first_ = work;
      time_.add(work);
    }
  }

  // Call when all work is added. Idle time at an edge of the window is a gap if there is work on
  // its other side.
  void finish(AccountWindow& extent) {
    time_.finish();
    parts_ = time_.take_parts();
    std::vector<Gap> gaps = time_.gaps();
    if (first_) extent.add(time_.first(), time_.last());
    if (worked_before_ && first_) add_gap(gaps, gaps.begin(), *from_, time_.first(), *first_);
    if (worked_before_ && !first_ && next_) add_gap(gaps, gaps.begin(), *from_, *to_, *next_);
    if (first_ && next_) add_gap(gaps, gaps.end(), time_.last(), *to_, *next_);
    idle_.set_longest(place_, std::move(gaps));
  }

  // `extent`: of the run, which is the window's where it is open.
  std::vector<AccountPart> account(const AccountWindow& extent) const {
    const AccountWindow window{from_.value_or(extent.first), to_.value_or(extent.last)};
    DeviceFacts facts{.parts = parts_, .idle = idle_.of(place_)};
    if (first_) {
      if (!worked_before_) facts.before = time_.first() - window.first;
      if (!next_) facts.after = window.last - time_.last();
    } else if (!worked_before_) {
      facts.before = window.length();
    } else if (!next_) {
      facts.after = window.length();
    }
    return account_of(facts, window.length());
  }

 private:
  void add_gap(std::vector<Gap>& gaps, std::vector<Gap>::iterator place, std::int64_t from,
               std::int64_t to, const GpuWork& after) {
    if (to > from) idle_.add_gap(place_, *gaps.insert(place, {from, to, after, after}));
  }

  IdleTimes& idle_;
  const std::size_t place_;
  std::optional<std::int64_t> from_, to_;
  DeviceTime time_;
  DeviceTime::Parts parts_;
  bool worked_before_ = false;           // before the window
  std::optional<GpuWork> first_, next_;  // in the window, and after it
};

// Of the runtime, then of the driver.
void read_host_calls(store::Snapshot& snapshot, IdleTimes& idle, const NeededRows* needed,
                     AccountWindow& window, const std::function<void()>& check) {
  for (const auto& [domain, table] : CallTimes::sources) {
    if (domain == CallTimes::internal) continue;
    columns::Reader reader(
        snapshot, {.table = std::string(table),
                   .columns = {"correlationId", "start", "end", "processId", "cbid", "threadId"},
                   .needed = needed ? needed->of(table) : std::nullopt});
    reader.read([&, domain = domain](const columns::Chunk& chunk) {
      check();
      window.add(chunk[1], chunk[2]);
      idle.add({.of_driver = domain == CallTimes::driver,
                .correlation = chunk[0],
                .start = chunk[1],
                .end = chunk[2],
                .process = chunk[3],
                .cbid = chunk[4],
                .thread = chunk[5]});
    });
  }
}

// Without negative beginnings, so that no length overflows.
std::vector<TimeBounds> checked(std::span<const TimeBounds> given) {
  std::vector<TimeBounds> windows(given.begin(), given.end());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto& [from, to] = windows[i];
    if (i > 0 && !(from && windows[i - 1].to && *windows[i - 1].to <= *from)) {
      throw Error("windows of time must be in order and must not overlap", "",
                  ExitCode::bad_option);
    }
    if (from) from = std::max<std::int64_t>(*from, 0);
  }
  return windows;
}

// What accounts of windows take from the blocks of a file, and what is left to be read.
class Division {
 public:
  struct OfDevice {
    // In order, not overlapping; and the windows that they are in.
    std::vector<std::pair<std::size_t, TimeBounds>> rest;
    std::vector<AccountSum> known;  // by window
  };

  Division(std::vector<TimeBounds> windows, const AccountBlocks& blocks)
      : windows_(std::move(windows)), run_(blocks.run()) {
    if (!blocks.empty()) {
      for (auto& [from, to] : windows_) {
        if (!from) from = run_.first;
        if (!to) to = run_.last;
      }
    }
    others_.known.resize(windows_.size());
    for (std::size_t i = 0; i < windows_.size(); ++i) others_.rest.emplace_back(i, windows_[i]);
    for (const std::int64_t device : blocks.devices()) {
      OfDevice& its = devices_[device];
      its.known.resize(windows_.size());
      for (std::size_t i = 0; i < windows_.size(); ++i) {
        const TimeSpan window{*windows_[i].from, *windows_[i].to};
        if (window.begin >= window.end) continue;
        for (const TimeSpan& rest : blocks.add(device, window, its.known[i])) {
          its.rest.emplace_back(i, TimeBounds{rest.begin, rest.end});
        }
      }
    }
  }

  const std::vector<TimeBounds>& windows() const { return windows_; }
  // The run's; empty without blocks.
  const AccountWindow& run() const { return run_; }
  // Whether all that is read has a begin and an end.
  bool is_bounded() const {
    return !windows_.empty() && windows_.front().from && windows_.back().to;
  }
  // What is read, if it is bounded.
  std::vector<TimeSpan> periods() const {
    std::vector<TimeSpan> periods;
    const auto add = [&](const OfDevice& device) {
      for (const auto& [window, rest] : device.rest) periods.push_back({*rest.from, *rest.to});
    };
    if (devices_.empty()) add(others_);
    for (const auto& [number, device] : devices_) add(device);
    return periods;
  }
  const OfDevice& of(std::int64_t device) const {
    const auto its = devices_.find(device);
    return its == devices_.end() ? others_ : its->second;
  }

 private:
  std::vector<TimeBounds> windows_;
  AccountWindow run_;
  std::map<std::int64_t, OfDevice> devices_;  // that have blocks
  OfDevice others_;
};

// A device, as it is read: in each of several periods.
class ReadDevice {
 public:
  ReadDevice(IdleTimes& idle, const Division& division, std::int64_t device)
      : its_(division.of(device)) {
    for (const auto& [window, rest] : its_.rest) windows_.emplace_back(idle, device, rest);
  }
  ReadDevice(const ReadDevice&) = delete;
  ReadDevice& operator=(const ReadDevice&) = delete;

  // In start order.
  void add(const GpuWork& work) {
    // The first work is before, in or after each window; of the later ones, those in it and the
    // next one after it count.
    std::size_t last = begun_ ? open_ : windows_.size();
    begun_ = true;
    while (open_ < windows_.size() && windows_[open_].ends_by(work.begin)) {
      windows_[open_++].add(work);
    }
    last = std::max(last, open_);
    while (last < windows_.size() && windows_[last].begins_before(work.end)) ++last;
    for (std::size_t i = open_; i < last; ++i) windows_[i].add(work);
  }

  // Call when all work is added.
  void finish(AccountWindow& extent) {
    for (DeviceWindow& window : windows_) window.finish(extent);
  }

  // Adds its account to all that are not empty.
  void add_to(std::vector<Accounts>& all, const AccountWindow& extent, std::int64_t device) const {
    std::vector<AccountSum> sums = its_.known;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const std::size_t window = its_.rest[i].first;
      if (!all[window].window.is_empty()) sums[window].add(windows_[i].account(extent));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].window.is_empty()) all[i].devices[device] = sums[i].parts();
    }
  }

 private:
  const Division::OfDevice& its_;
  std::deque<DeviceWindow> windows_;
  std::size_t open_ = 0;  // the windows before it have ended
  bool begun_ = false;
};

// Adds what idle time went to, and what it is in addition to what the calls show.
class Idle {
 public:
  using Add = std::function<void(std::string_view what, std::int64_t cause, const IdleTime& its,
                                 const std::string& place)>;

  explicit Idle(const DeviceIdle& idle) : idle_(idle) {
    for (std::size_t i = 0; i < idle.gaps.size(); ++i) {
      const Gap& gap = idle.gaps[i];
      in_gaps_ += gap.length();
      const auto& split = idle.splits[i];
      if (!split) {
        unknown_.add(gap.length());
        continue;
      }
      in_calls_.add(split->in_calls);
      launching_.add(split->launching);
    }
  }

  void add_all(std::int64_t between_works, const Add& add_one) const {
    const auto add = [&](std::string_view what, std::int64_t cause, const IdleTime& its) {
      add_one(what, cause, its, {});
    };
    const auto& [queued, for_event, launches, between, calls] = idle_.calls->parts;
    const IdleParts& others = idle_.others.shorter;
    add("queued", 0, sum(queued, others.queued));
    add("queued", 1, sum(for_event, others.queued_for_event));
    std::map<std::int64_t, IdleTime> all_launches = launches;
    for (const auto& [function, its] : others.launches) {
      all_launches[function] = sum(all_launches[function], its);
    }
    for (const auto& [function, its] : all_launches) add("launch", function, its);
    // Functions beyond those that are distinguished are with those between launches.
    const std::int64_t known = time_of(launches);
    add("launch", 0, sum({launching_.time - known, between.gaps}, others.between_launches));
    for (const auto& [function, its] : calls) add("call", function, its);
    add("call", 0, {in_calls_.time - time_of(calls), in_calls_.gaps});
    for (const auto& [place, its] : idle_.calls->away) add_one("no call", 0, its, place);
    add("unknown", 0, unknown_);
    const std::int64_t short_gaps = idle_.gap_count - static_cast<std::int64_t>(idle_.gaps.size());
    add("short gap", 0,
        {between_works - in_gaps_ - time_of(others.launches) - others.between_launches.time -
             others.queued.time - others.queued_for_event.time,
         short_gaps - idle_.others.explained});
  }

 private:
  static IdleTime sum(const IdleTime& a, const IdleTime& b) {
    return {a.time + b.time, a.gaps + b.gaps};
  }
  static std::int64_t time_of(const std::map<std::int64_t, IdleTime>& functions) {
    std::int64_t time = 0;
    for (const auto& [function, its] : functions) time += its.time;
    return time;
  }

  const DeviceIdle& idle_;
  std::int64_t in_gaps_ = 0;
  IdleTime in_calls_, launching_, unknown_;
};

}  // namespace

std::vector<Accounts> read_accounts(store::Snapshot& snapshot, std::span<const TimeBounds> given,
                                    const std::function<void()>& check,
                                    const std::function<void()>& has_read) {
  const auto groups = StoredRowGroups::read(snapshot.database());
  Division division(checked(given), AccountBlocks::read(snapshot.database(), groups));
  IdleTimes idle(division.is_bounded(), kept_bytes);
  idle.read_waits(snapshot, check);
  std::optional<NeededRows> needed;
  // Which thread launches most follows from all calls.
  if (groups && division.is_bounded() && !idle.knows_moments()) {
    needed = groups->needed(division.periods());
    idle.know(needed->processes);
  }
  const NeededRows* const rows = needed ? &*needed : nullptr;
  std::map<std::int64_t, ReadDevice> devices;
  read_gpu_work(
      snapshot,
      {.visit =
           [&](const GpuWork& work) {
             idle.add_waited_for(work);
             devices.try_emplace(work.device, idle, division, work.device).first->second.add(work);
           },
       .restart =
           [&] {
             devices.clear();
             idle.restart();
           },
       .check = check,
       .visit_ids = [&](const auto ids) { idle.add_asked_for(ids); }},
      rows);
  AccountWindow extent = division.run();
  for (auto& [number, device] : devices) device.finish(extent);
  read_host_calls(snapshot, idle, rows, extent, check);
  if (has_read) has_read();
  idle.finish(check);
  std::vector<Accounts> all;
  for (const auto& [from, to] : division.windows()) {
    all.push_back({{from.value_or(extent.first), to.value_or(extent.last)}, {}});
  }
  for (const auto& [number, device] : devices) device.add_to(all, extent, number);
  return all;
}

Accounts read_accounts(store::Snapshot& snapshot, const TimeBounds& window,
                       const std::function<void()>& check, const std::function<void()>& has_read) {
  return std::move(read_accounts(snapshot, {&window, 1}, check, has_read).front());
}

void AccountWindow::add(std::int64_t begin, std::int64_t end) {
  first = std::min(first, begin);
  last = std::max(last, end);
}

void AccountWindow::add(const columns::Column& begin, const columns::Column& end) {
  const auto begins = begin.int64s(), ends = end.int64s();
  for (std::size_t row = 0; row < begins.size(); ++row) {
    if (begins[row] > 0 && ends[row] > begins[row]) add(begins[row], ends[row]);
  }
}

std::vector<AccountPart> account_of(const DeviceFacts& device, std::int64_t length) {
  std::vector<AccountPart> parts;
  const auto add = [&](std::string_view what, std::int64_t cause, const IdleTime& its,
                       const std::string& place = {}) {
    if (its.time != 0) parts.push_back({what, cause, its.time, its.gaps, place});
  };
  add("before", 0, {device.before, 1});
  std::int64_t between_works = length - device.before - device.after;
  for (const auto& [doing, part] : device.parts) {
    const auto [activity, direction] = doing;
    add(name_of(activity), activity == DeviceTime::Activity::copy ? direction : 0,
        {part.duration, part.intervals});
    between_works -= part.duration;
  }
  Idle(device.idle).add_all(between_works, add);
  add("after", 0, {device.after, 1});
  return parts;
}

}  // namespace gpuprof::compute
