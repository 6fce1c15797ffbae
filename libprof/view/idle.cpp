// Why devices had no work.
#include <algorithm>
#include <map>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/report.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_named_calls = 4;  // that are told apart

// From the first record of a device in a window to its last; empty: it has none there.
Window work_of(const Model& model, std::int64_t device, const Window& window) {
  Window work{.from = window.to, .to = window.from};
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream || track.device != device) continue;
    for (const auto& row : track.rows) {
      const Row::Places places = row->within(window.from, window.to);
      if (places.first == places.end) continue;
      work.from = std::min(work.from, std::max(row->begin(places.first), window.from));
      work.to = std::max(work.to, std::min(row->end(places.end - 1), window.to));
    }
  }
  return work;
}

// Takes no more from what is idle than there is.
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

// `work`: it begins and ends with work, so no gap reaches beyond it.
void add_gaps(store::Database& database, const HostCalls& calls, std::int64_t device,
              const Window& work, Parts& parts) {
  std::map<std::string, InCalls> by_call;
  InCalls outside;
  auto gaps = database.prepare(
      "SELECT start, stop, hostCall, hostTime FROM main.GPU_GAP "
      "WHERE deviceId = ?1 AND start >= ?2 AND stop <= ?3 AND stop > start");
  gaps.bind(1, device).bind(2, work.from).bind(3, work.to);
  while (gaps.step()) {
    const std::uint64_t length = intervals::length(gaps.integer(0), gaps.integer(1));
    const auto call = calls.find(gaps.integer(2));
    const std::uint64_t inside =
        call == calls.end()
            ? 0
            : std::min(length,
                       static_cast<std::uint64_t>(std::max<std::int64_t>(gaps.integer(3), 0)));
    if (inside > 0) {
      by_call[call->second].time += inside;
      ++by_call[call->second].gaps;
    }
    if (inside < length) {
      outside.time += length - inside;
      ++outside.gaps;
    }
  }
  std::vector<std::pair<std::string, InCalls>> order(by_call.begin(), by_call.end());
  std::ranges::stable_sort(order, std::greater{},
                           [](const auto& each) { return each.second.time; });
  InCalls others;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [call, its] = order[i];
    if (i < most_named_calls) {
      parts.add("host in " + call, its.time, its.gaps);
    } else {
      others.time += its.time;
      others.gaps += its.gaps;
    }
  }
  parts.add("host in other long calls", others.time, others.gaps);
  parts.add("host in short calls or in none", outside.time, outside.gaps);
}

}  // namespace

std::vector<std::vector<IdlePart>> find_idle_parts(store::Database& database, const Model& model,
                                                   const Window& window,
                                                   const Statistics& statistics) {
  std::vector<std::vector<IdlePart>> all;
  reading::Tables tables(database);
  reading::Names names(database, reading::NameStyle::modern);
  const bool has_gaps = tables.has("GPU_GAP", "hostCall") && tables.has("GPU_GAP", "hostTime");
  HostCalls calls;
  if (has_gaps) calls = host_calls(tables, names, window);
  for (const Statistics::Device& device : statistics.devices) {
    Parts parts(window.length() - std::min(device.busy, window.length()));
    const Window work = work_of(model, device.device, window);
    if (work.from < work.to) {
      parts.add("before its first work", intervals::length(window.from, work.from), 1);
      parts.add("after its last work", intervals::length(work.to, window.to), 1);
      if (has_gaps) add_gaps(database, calls, device.device, work, parts);
    }
    all.push_back(parts.finish(has_gaps ? "gaps that are not listed" : "not known"));
  }
  return all;
}

}  // namespace gpuprof::view
