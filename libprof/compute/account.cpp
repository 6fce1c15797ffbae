#include "libprof/compute/account.hpp"

#include <algorithm>

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

}  // namespace

void RunWindow::add(std::int64_t begin, std::int64_t end) {
  first = std::min(first, begin);
  last = std::max(last, end);
}

std::vector<AccountPart> account_of(const DeviceFacts& device, const RunWindow& window) {
  std::vector<AccountPart> parts;
  const auto add = [&](std::string_view what, std::int64_t cause, std::int64_t duration,
                       std::int64_t intervals) {
    if (duration != 0) parts.push_back({what, cause, duration, intervals});
  };
  const DeviceTime& time = device.time;
  add("before", 0, time.first() - window.first, 1);
  for (const auto& [doing, part] : time.parts()) {
    const auto [activity, direction] = doing;
    add(name_of(activity), activity == DeviceTime::Activity::copy ? direction : 0, part.duration,
        part.intervals);
  }
  std::int64_t in_calls = 0, calls = 0, no_call = 0, without_calls = 0, unknown = 0, known_gaps = 0;
  std::int64_t in_gaps = 0;
  for (std::size_t i = 0; i < device.gaps.size(); ++i) {
    const std::int64_t length = device.gaps[i].length();
    in_gaps += length;
    if (const auto& split = device.splits[i]) {
      in_calls += split->in_calls;
      no_call += length - split->in_calls;
      without_calls += split->in_calls < length;
      ++known_gaps;
    } else {
      unknown += length;
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
  add("short gap", 0, time.last() - time.first() - time.busy() - in_gaps, time.gap_count() - gaps);
  add("after", 0, window.last - time.last(), 1);
  return parts;
}

}  // namespace gpuprof::compute
