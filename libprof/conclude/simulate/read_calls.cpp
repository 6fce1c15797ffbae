#include <algorithm>
#include <optional>
#include <string>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/hosts_in_gaps.hpp"
#include "libprof/conclude/simulate/read_schedule.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::simulate {
namespace {

constexpr std::size_t most_costly_calls = 1'000'000;
// Looking a function up, which some do for each launch, takes less, ns.
constexpr std::int64_t least_of_costly_calls = 2'000;

// Calls of the file as they come.
class Calls {
 public:
  Calls(store::Database& database, Read& read) : read_(read), hosts_(database, read.schedule) {
    for (std::uint32_t work = 0; work < read.correlations.size(); ++work) {
      (is_waited_for(work) ? waited_for_ : launched_).add(read.correlations[work]);
    }
    for (const Synchronization& each : read.synchronizations) waited_in_.add(each.correlation);
    if (!read.schedule.works.empty()) last_ = read.schedule.works.back().begin;
  }

  void add(compute::CallTimes::Domain domain, const columns::Chunk& chunk) {
    const auto correlation = chunk[0].int64s(), begin = chunk[1].int64s(), end = chunk[2].int64s(),
               process = chunk[3].int64s(), thread = chunk[4].int64s(), cbid = chunk[5].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (begin[row] <= 0 || end[row] <= begin[row]) continue;
      read_.schedule.has_calls = true;
      if (begin[row] > last_) continue;
      const std::int64_t id = correlation[row];
      const bool launched = id != 0 && launched_.contains(id),
                 is_waited = id != 0 && waited_for_.contains(id);
      if (domain != compute::CallTimes::internal) {
        const bool of_driver = domain == compute::CallTimes::driver;
        take({.process = process[row],
              .begin = begin[row],
              .end = end[row],
              .correlation = id,
              .function = compute::function_number(of_driver, cbid[row]),
              .launches = launched && !is_waited});
      }
      if (launched || is_waited || (id != 0 && waited_in_.contains(id))) {
        keep({.correlation = id,
              .begin = begin[row],
              .length = length_between(begin[row], end[row])},
             process[row], thread[row]);
      }
    }
  }

  void finish() {
    std::ranges::sort(read_.calls, {}, &Call::correlation);
    const auto others = std::ranges::unique(read_.calls, {}, &Call::correlation);
    read_.calls.erase(others.begin(), others.end());
    hosts_.finish([&](const Gap& gap) { return launch_of(gap.work); });
  }

 private:
  // As the account has it, which does not know of waits that were short.
  bool is_waited_for(std::uint32_t work) const {
    return (read_.schedule.works[work].copied & (pageable_copies | blocking_copies)) != 0;
  }
  bool launches(std::int64_t correlation) const {
    return correlation != 0 && launched_.contains(correlation) &&
           !waited_for_.contains(correlation);
  }
  std::optional<compute::GapLaunch> launch_of(std::uint32_t work) const {
    const std::int64_t correlation = read_.correlations[work];
    const Call* call = launches(correlation) ? read_.find_call(correlation) : nullptr;
    if (!call) return std::nullopt;
    return compute::GapLaunch{.begin = call->begin,
                              .arrival = saturating_add(call->end(), compute::launch_latency)};
  }
  void take(compute::HostCall call) {
    const std::uint32_t process = read_.processes.find(call.process);
    if (process == none) return;
    call.process = process;
    hosts_.add(call);
    if (call.end - call.begin < least_of_costly_calls) return;
    const std::uint32_t mended_by = hosts_.mended_by(call);
    if (mended_by != nothing && read_.schedule.costly_calls.size() < most_costly_calls) {
      read_.schedule.costly_calls.push_back({call.begin, call.end, process, mended_by});
    }
  }

  // Of calls with the same id the first counts: that of the runtime.
  void keep(Call call, std::int64_t process, std::int64_t thread) {
    if (!known_.is_full() && known_.contains(call.correlation)) return;
    known_.add(call.correlation);
    const std::uint32_t number = read_.threads.of({process, thread});
    if (number == read_.process_of.size()) {
      read_.process_of.push_back(read_.processes.of(process));
    }
    call.thread = std::min(number, Call::last_thread);
    read_.calls.push_back(call);
  }

  Read& read_;
  HostsInGaps hosts_;
  compute::CorrelationSet launched_, waited_for_;  // work
  compute::CorrelationSet waited_in_, known_;
  std::int64_t last_ = 0;  // begin of the last work
};

}  // namespace

void read_calls(store::Snapshot& snapshot, Read& read, const Check& check) {
  Calls calls(snapshot.database(), read);
  for (const auto& [domain, table] : compute::CallTimes::sources) {
    columns::Reader reader(
        snapshot, {.table = std::string(table),
                   .columns = {"correlationId", "start", "end", "processId", "threadId", "cbid"}});
    reader.read([&, domain = domain](const columns::Chunk& chunk) {
      check();
      calls.add(domain, chunk);
    });
  }
  calls.finish();
}

}  // namespace gpuprof::simulate
