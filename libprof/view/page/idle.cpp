// Why devices had no work.
#include <algorithm>
#include <map>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_named_calls = 4;  // named separately

// Splits the idle time; parts never exceed what is left of it.
class Parts {
 public:
  explicit Parts(std::uint64_t idle) : left_(idle) {}

  void add(const std::string& cause, std::uint64_t time, std::int64_t gaps) {
    time = std::min(time, left_);
    left_ -= time;
    if (time > 0) parts_.push_back({cause, time, gaps});
  }
  std::vector<IdlePart> finish(const std::string& rest) {
    add(rest, left_, 0);
    std::ranges::stable_sort(parts_, std::greater{}, &IdlePart::time);
    return std::move(parts_);
  }

 private:
  std::uint64_t left_;
  std::vector<IdlePart> parts_;
};

struct InCalls {
  std::uint64_t time = 0;
  std::int64_t gaps = 0;
};

// `work` begins and ends with work, so no gap extends beyond it.
void add_gaps(store::Database& database, const HostCalls& calls, std::int64_t device,
              const Window& work, Parts& parts) {
  std::map<std::string, InCalls> by_part;
  InCalls not_known;
  auto gaps = database.prepare(
      "SELECT start, stop, hostCall, hostTime, noCallTime FROM main.GPU_GAP "
      "WHERE deviceId = ?1 AND start >= ?2 AND stop <= ?3 AND stop > start");
  gaps.bind(1, device).bind(2, work.from).bind(3, work.to);
  while (gaps.step()) {
    const std::uint64_t length = intervals::length(gaps.integer(0), gaps.integer(1));
    if (gaps.is_null(4) || length > INT64_MAX) {
      not_known.time += length;
      ++not_known.gaps;
      continue;
    }
    const auto call = calls.find(gaps.integer(2));
    for (const HostPart& part : host_parts(static_cast<std::int64_t>(length),
                                           call == calls.end() ? std::string() : call->second,
                                           gaps.integer(3), gaps.integer(4))) {
      InCalls& its = by_part[part.name];
      its.time += static_cast<std::uint64_t>(part.time);
      ++its.gaps;
    }
  }
  const auto take = [&](std::string_view name) {
    const auto found = by_part.find(std::string(name));
    return found == by_part.end() ? InCalls() : by_part.extract(found).mapped();
  };
  const InCalls in_none = take(no_call);
  InCalls others = take(other_calls);
  std::vector<std::pair<std::string, InCalls>> order(by_part.begin(), by_part.end());
  std::ranges::stable_sort(order, std::greater{},
                           [](const auto& each) { return each.second.time; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [call, its] = order[i];
    if (i < most_named_calls) {
      parts.add("host in " + call, its.time, its.gaps);
    } else {
      others.time += its.time;
      others.gaps += its.gaps;
    }
  }
  parts.add("host in " + std::string(other_calls), others.time, others.gaps);
  parts.add("host in " + std::string(no_call), in_none.time, in_none.gaps);
  parts.add("host not known: its calls were not recorded", not_known.time, not_known.gaps);
}

}  // namespace

std::vector<std::vector<IdlePart>> find_idle_parts(store::Database& database, const Window& window,
                                                   bool is_part, const Statistics& statistics) {
  std::vector<std::vector<IdlePart>> all;
  reading::Tables tables(database);
  reading::Names names(database, reading::NameStyle::modern);
  const bool has_gaps = tables.has("GPU_GAP", "hostCall") && tables.has("GPU_GAP", "noCallTime");
  HostCalls calls;
  if (has_gaps) calls = host_calls(tables, names, window);
  for (const Statistics::Device& device : statistics.devices) {
    const std::uint64_t span = device.span(window, is_part);
    Parts parts(span - std::min(device.busy, span));
    if (is_part) {
      parts.add("before its first work", intervals::length(window.from, device.work.from), 1);
      parts.add("after its last work", intervals::length(device.work.to, window.to), 1);
    }
    if (has_gaps) add_gaps(database, calls, device.device, device.work, parts);
    all.push_back(parts.finish(has_gaps ? "gaps that are not listed" : "not known"));
  }
  return all;
}

}  // namespace gpuprof::view
