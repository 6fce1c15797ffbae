#include "libprof/compute/account.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "libprof/base/error.hpp"
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
  // `window`: its place among those of `idle`.
  DeviceWindow(IdleTimes& idle, std::size_t window, const TimeBounds& bounds)
      : idle_(idle),
        place_(idle.add_place(window)),
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
  void finish(AccountWindow& window) {
    time_.finish();
    std::vector<Gap> gaps = time_.gaps();
    if (first_) window.add(time_.first(), time_.last());
    if (worked_before_ && first_) add_gap(gaps, gaps.begin(), *from_, time_.first(), *first_);
    if (worked_before_ && !first_ && next_) add_gap(gaps, gaps.begin(), *from_, *to_, *next_);
    if (first_ && next_) add_gap(gaps, gaps.end(), time_.last(), *to_, *next_);
    idle_.set_longest(place_, std::move(gaps));
  }

  std::vector<AccountPart> account(const AccountWindow& window) const {
    DeviceFacts facts{
        .time = time_, .idle = idle_.of(place_), .gap_count = time_.gap_count() + edge_gaps_};
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
    if (to <= from) return;
    idle_.add_gap(place_, *gaps.insert(place, {from, to, after, after}));
    ++edge_gaps_;
  }

  IdleTimes& idle_;
  const std::size_t place_;
  std::optional<std::int64_t> from_, to_;
  DeviceTime time_;
  bool worked_before_ = false;           // before the window
  std::optional<GpuWork> first_, next_;  // in the window, and after it
  std::int64_t edge_gaps_ = 0;
};

// A device in each of several windows.
class DeviceWindows {
 public:
  DeviceWindows(IdleTimes& idle, std::span<const TimeBounds> bounds) {
    for (std::size_t i = 0; i < bounds.size(); ++i) windows_.emplace_back(idle, i, bounds[i]);
  }
  DeviceWindows(const DeviceWindows&) = delete;
  DeviceWindows& operator=(const DeviceWindows&) = delete;

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

  const DeviceWindow& window(std::size_t place) const { return windows_[place]; }

 private:
  std::deque<DeviceWindow> windows_;
  std::size_t open_ = 0;  // the windows before it have ended
  bool begun_ = false;
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

// Adds what idle time went to, and what it is in addition to what the calls show.
class Idle {
 public:
  using Add = std::function<void(std::string_view what, std::int64_t cause, const IdleTime& its,
                                 const std::string& place)>;

  explicit Idle(const DeviceFacts& device) : device_(device) {
    const DeviceIdle& idle = device.idle;
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
    const auto& [queued, for_event, launches, between, calls] = device_.idle.parts;
    const IdleParts& others = device_.idle.others.shorter;
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
    for (const auto& [place, its] : device_.idle.away) add_one("no call", 0, its, place);
    add("unknown", 0, unknown_);
    const std::int64_t short_gaps =
        device_.gap_count - static_cast<std::int64_t>(device_.idle.gaps.size());
    add("short gap", 0,
        {between_works - in_gaps_ - time_of(others.launches) - others.between_launches.time -
             others.queued.time - others.queued_for_event.time,
         short_gaps - device_.idle.others.explained});
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

  const DeviceFacts& device_;
  std::int64_t in_gaps_ = 0;
  IdleTime in_calls_, launching_, unknown_;
};

}  // namespace

std::vector<Accounts> read_accounts(store::Snapshot& snapshot, std::span<const TimeBounds> given,
                                    const std::function<void()>& check,
                                    const std::function<void()>& has_read) {
  const std::vector<TimeBounds> windows = checked(given);
  IdleTimes idle(windows, kept_bytes);
  idle.read_waits(snapshot, check);
  std::optional<NeededRows> needed;
  // Which thread launches most follows from all calls.
  if (idle.is_bounded() && !idle.knows_moments()) {
    needed = find_needed_rows(snapshot.database(), *windows.front().from, *windows.back().to);
    if (needed) idle.know(needed->processes);
  }
  const NeededRows* const rows = needed ? &*needed : nullptr;
  std::map<std::int64_t, DeviceWindows> devices;
  read_gpu_work(snapshot,
                {.visit =
                     [&](const GpuWork& work) {
                       idle.add_asked_for(work.correlation);
                       idle.add_waited_for(work);
                       devices.try_emplace(work.device, idle, windows).first->second.add(work);
                     },
                 .restart =
                     [&] {
                       devices.clear();
                       idle.restart();
                     },
                 .check = check},
                rows);
  AccountWindow extent;
  for (auto& [number, device] : devices) device.finish(extent);
  read_host_calls(snapshot, idle, rows, extent, check);
  if (has_read) has_read();
  idle.finish(check);
  std::vector<Accounts> all(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    AccountWindow& window = all[i].window;
    window.first = windows[i].from.value_or(extent.first);
    window.last = windows[i].to.value_or(extent.last);
    if (window.first >= window.last) continue;
    for (const auto& [number, device] : devices) {
      all[i].devices[number] = device.window(i).account(window);
    }
  }
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
  const DeviceTime& time = device.time;
  add("before", 0, {device.before, 1});
  for (const auto& [doing, part] : time.parts()) {
    const auto [activity, direction] = doing;
    add(name_of(activity), activity == DeviceTime::Activity::copy ? direction : 0,
        {part.duration, part.intervals});
  }
  Idle(device).add_all(length - device.before - device.after - time.busy(), add);
  add("after", 0, {device.after, 1});
  return parts;
}

}  // namespace gpuprof::compute
