#include "libprof/compute/account.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

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
  explicit DeviceWindow(const TimeBounds& bounds) : from_(bounds.from), to_(bounds.to) {}

  bool begins_before(std::int64_t time) const { return !from_ || *from_ < time; }
  bool ends_by(std::int64_t time) const { return to_ && *to_ <= time; }

  void add(GpuWork work, bool communicates) {
    if (from_ && work.end <= *from_) {
      worked_before_ = true;
    } else if (to_ && work.begin >= *to_) {
      if (!next_) next_ = work;
    } else {
      worked_before_ |= from_ && work.begin < *from_;
      if (from_) work.begin = std::max(work.begin, *from_);
      if (to_) work.end = std::min(work.end, *to_);
      if (!first_) first_ = work;
      time_.add(work, communicates);
    }
  }

  // Call when all work is added. Idle time at an edge of the window is a gap if there is work on
  // its other side.
  void finish(AccountWindow& window) {
    time_.finish();
    gaps_ = time_.gaps();
    if (first_) window.add(time_.first(), time_.last());
    if (worked_before_ && first_) add_gap(gaps_.begin(), *from_, time_.first(), *first_);
    if (worked_before_ && !first_ && next_) add_gap(gaps_.begin(), *from_, *to_, *next_);
    if (first_ && next_) add_gap(gaps_.end(), time_.last(), *to_, *next_);
  }

  std::span<const Gap> gaps() const { return gaps_; }

  std::vector<AccountPart> account(HostCalls& calls, const AccountWindow& window) const {
    const auto splits = calls.finish();
    DeviceFacts facts{.time = time_,
                      .gaps = gaps_,
                      .splits = splits,
                      .functions = calls.functions(),
                      .gap_count = time_.gap_count() + edge_gaps_};
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
  void add_gap(std::vector<Gap>::iterator place, std::int64_t from, std::int64_t to,
               const GpuWork& after) {
    if (to <= from) return;
    gaps_.insert(place, {from, to, after, after});
    ++edge_gaps_;
  }

  std::optional<std::int64_t> from_, to_;
  DeviceTime time_;
  bool worked_before_ = false;           // before the window
  std::optional<GpuWork> first_, next_;  // in the window, and after it
  std::vector<Gap> gaps_;
  std::int64_t edge_gaps_ = 0;
};

// A device in each of several windows.
class DeviceWindows {
 public:
  explicit DeviceWindows(std::span<const TimeBounds> bounds)
      : windows_(bounds.begin(), bounds.end()) {}

  // In start order.
  void add(const GpuWork& work, bool communicates) {
    // The first work is before, in or after each window; of the later ones, those in it and the
    // next one after it count.
    std::size_t last = begun_ ? open_ : windows_.size();
    begun_ = true;
    while (open_ < windows_.size() && windows_[open_].ends_by(work.begin)) {
      windows_[open_++].add(work, communicates);
    }
    last = std::max(last, open_);
    while (last < windows_.size() && windows_[last].begins_before(work.end)) ++last;
    for (std::size_t i = open_; i < last; ++i) windows_[i].add(work, communicates);
  }

  // Call when all work is added.
  void finish(AccountWindow& extent) {
    for (DeviceWindow& window : windows_) {
      window.finish(extent);
      calls_.emplace_back(window.gaps());
    }
  }

  const DeviceWindow& window(std::size_t place) const { return windows_[place]; }
  // The calls in the gaps of that window. Use after finish().
  HostCalls& calls(std::size_t place) { return calls_[place]; }

 private:
  std::vector<DeviceWindow> windows_;
  std::deque<HostCalls> calls_;  // by window
  std::size_t open_ = 0;         // the windows before it have ended
  bool begun_ = false;
};

// Calls visit(call) for all timed calls of the runtime, then of the driver.
void read_host_calls(store::Snapshot& snapshot, const std::function<void()>& check,
                     const std::function<void(const HostCall&)>& visit) {
  for (const auto& [domain, table] : CallTimes::sources) {
    if (domain == CallTimes::internal) continue;
    columns::Reader reader(snapshot,
                           {.table = std::string(table),
                            .columns = {"correlationId", "start", "end", "processId", "cbid"}});
    reader.read([&, domain = domain](const columns::Chunk& chunk) {
      check();
      const auto correlation = chunk[0].int64s(), start = chunk[1].int64s(),
                 end = chunk[2].int64s(), process = chunk[3].int64s(), cbid = chunk[4].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (start[row] <= 0 || end[row] <= start[row]) continue;
        visit({.process = process[row],
               .begin = start[row],
               .end = end[row],
               .correlation = correlation[row],
               .function = function_number(domain == CallTimes::driver, cbid[row])});
      }
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

}  // namespace

std::unordered_set<std::int64_t> read_communication(store::Database& database) {
  std::unordered_set<std::int64_t> ids;
  if (!database.has_column("StringTable", "value")) return ids;
  std::string name = "value";  // nvprof's files have no other
  for (const char* column : {"demangled", "short"}) {
    if (database.has_column("StringTable", column)) {
      name = "coalesce(" + std::string(column) + ", " + name + ")";
    }
  }
  auto names = database.prepare("SELECT _id_, " + name + " FROM main.StringTable");
  while (names.step()) {
    if (schema::is_communication_kernel(names.text(1))) ids.insert(names.integer(0));
  }
  return ids;
}

std::vector<Accounts> read_accounts(store::Snapshot& snapshot, std::span<const TimeBounds> given,
                                    const std::function<void()>& check) {
  const std::vector<TimeBounds> windows = checked(given);
  const auto communication = read_communication(snapshot.database());
  std::map<std::int64_t, DeviceWindows> devices;
  read_gpu_work(snapshot, {.visit =
                               [&](const GpuWork& work) {
                                 devices.try_emplace(work.device, windows)
                                     .first->second.add(work, communication.contains(work.name));
                               },
                           .restart = [&] { devices.clear(); },
                           .check = check});
  AccountWindow extent;
  for (auto& [number, device] : devices) device.finish(extent);
  std::unordered_set<std::int64_t> processes;
  read_host_calls(snapshot, check, [&](const HostCall& call) {
    extent.add(call.begin, call.end);
    processes.insert(call.process);
    const auto first = std::ranges::partition_point(
        windows, [&](const TimeBounds& each) { return each.to && *each.to <= call.begin; });
    for (auto each = first; each != windows.end() && !(each->from && *each->from >= call.end);
         ++each) {
      const auto place = static_cast<std::size_t>(each - windows.begin());
      for (auto& [number, device] : devices) device.calls(place).add(call);
    }
  });
  std::vector<Accounts> all(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    AccountWindow& window = all[i].window;
    window.first = windows[i].from.value_or(extent.first);
    window.last = windows[i].to.value_or(extent.last);
    if (window.first >= window.last) continue;
    for (auto& [number, device] : devices) {
      HostCalls& calls = device.calls(i);
      for (const std::int64_t process : processes) calls.know(process);
      all[i].devices[number] = device.window(i).account(calls, window);
    }
  }
  return all;
}

Accounts read_accounts(store::Snapshot& snapshot, const TimeBounds& window,
                       const std::function<void()>& check) {
  return std::move(read_accounts(snapshot, {&window, 1}, check).front());
}

void AccountWindow::add(std::int64_t begin, std::int64_t end) {
  first = std::min(first, begin);
  last = std::max(last, end);
}

std::vector<AccountPart> account_of(const DeviceFacts& device, std::int64_t length) {
  std::vector<AccountPart> parts;
  const auto add = [&](std::string_view what, std::int64_t cause, std::int64_t duration,
                       std::int64_t intervals) {
    if (duration != 0) parts.push_back({what, cause, duration, intervals});
  };
  const DeviceTime& time = device.time;
  add("before", 0, device.before, 1);
  for (const auto& [doing, part] : time.parts()) {
    const auto [activity, direction] = doing;
    add(name_of(activity), activity == DeviceTime::Activity::copy ? direction : 0, part.duration,
        part.intervals);
  }
  std::int64_t in_calls = 0, calls = 0, no_call = 0, without_calls = 0, unknown = 0, known_gaps = 0;
  std::int64_t in_gaps = 0;
  for (std::size_t i = 0; i < device.gaps.size(); ++i) {
    const std::int64_t idle = device.gaps[i].length();
    in_gaps += idle;
    if (const auto& split = device.splits[i]) {
      in_calls += split->in_calls;
      no_call += idle - split->in_calls;
      without_calls += split->in_calls < idle;
      ++known_gaps;
    } else {
      unknown += idle;
    }
  }
  for (const auto& [function, total] : device.functions) {
    add("call", function, total.time, total.gaps);
    calls += total.time;
  }
  const auto gaps = static_cast<std::int64_t>(device.gaps.size());
  add("call", 0, in_calls - calls, known_gaps);  // functions beyond those that are distinguished
  add("no call", 0, no_call, without_calls);
  add("unknown", 0, unknown, gaps - known_gaps);
  add("short gap", 0, length - device.before - device.after - time.busy() - in_gaps,
      device.gap_count - gaps);
  add("after", 0, device.after, 1);
  return parts;
}

}  // namespace gpuprof::compute
