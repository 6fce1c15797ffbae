// NVTX ranges and the calls made inside them.
//
// A call belongs to a range if it begins inside it on the range's thread. GPU work belongs where
// its launching call does. Memory grows with the file's number of ranges, calls and GPU operations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/read/names.hpp"
#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"
#include "schema/gpu_kind.hpp"

namespace gpuprof::report {

// All ranges with one name, in one domain and thread.
struct NvtxGroup {
  std::int64_t process = 0;           // 0 in nvprof's files, which have one process
  std::int64_t thread = 0;            // 0: process ranges, which have no thread
  std::optional<std::string> domain;  // nullopt: the default domain
  std::string name;
  Total total;  // of the ranges themselves
};

// An API call, or anything else with a thread and a time.
struct NvtxCall {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::uint32_t place = 0;  // from NvtxRanges::place()
  std::uint32_t what = 0;   // for the caller's use
  std::uint32_t work = 0;   // API calls: the first operation launched, see launched_by()
};

class NvtxRanges {
 public:
  // Reads MARKER, which all files have. Skips ranges that begin outside the time window.
  explicit NvtxRanges(Session& session);

  const std::vector<NvtxGroup>& groups() const { return groups_; }
  // Markers of ranges that lack the other end.
  std::int64_t invalid() const { return invalid_; }
  bool several_processes() const;
  bool any_mark() const { return any_mark_; }

  // The group of the range that MARKER identifies so; nullopt if the range was skipped.
  std::optional<std::uint32_t> group_of(std::int64_t process, std::int64_t id,
                                        std::int64_t start) const;

  // The place of a thread; nullopt if no ranges apply to it.
  std::optional<std::uint32_t> place(std::int64_t process, std::int64_t thread);

  // Sorts the calls and visits each one that is in a range, with the groups of the ranges around
  // it: those of its thread and those of its process. A group appears once, however deeply its
  // ranges nest.
  using Groups = std::span<const std::uint32_t>;
  using Visit = std::function<void(const NvtxCall& call, Groups of_thread, Groups of_process)>;
  void visit(std::vector<NvtxCall>& calls, const Visit& visit) const;

 private:
  struct Range {
    std::int64_t start = 0, end = 0;
    std::int64_t id = 0;
    std::uint32_t group = 0, place = 0;
  };
  using Thread = std::pair<std::int64_t, std::int64_t>;  // process, thread
  std::uint32_t add_place(const Thread& thread);
  // The place of the process's own ranges.
  std::optional<std::uint32_t> process_place(std::uint32_t place) const;

  bool has_processes_;
  std::vector<NvtxGroup> groups_;
  std::vector<Range> ranges_;  // sorted by process and start
  std::map<Thread, std::uint32_t> place_numbers_;
  std::vector<Thread> places_;
  std::int64_t invalid_ = 0;
  bool any_mark_ = false;
};

struct GpuOperation {
  std::int64_t correlation = 0;
  std::int64_t duration = 0;
  std::uint32_t what = 0;
  bool from_device = false;  // launched on the device (CDP)
  bool counted = false;      // for the caller's use
};

// All GPU work, sorted by correlation id. `what` numbers it by kind and GpuKind::named_by.
std::vector<GpuOperation> read_gpu_work(
    Session& session,
    const std::function<std::uint32_t(const schema::GpuKind& kind, std::int64_t id)>& what);

// The calls of RUNTIME and DRIVER that have a place and launched some of `work`. `what` numbers
// functions. Launching calls without a place go to `elsewhere`.
std::vector<NvtxCall> read_launches(
    Session& session, NvtxRanges& ranges, const std::vector<GpuOperation>& work,
    const std::function<std::uint32_t(ApiDomain, std::int64_t cbid)>& what,
    std::vector<NvtxCall>& elsewhere);
// `first` is NvtxCall::work.
std::span<GpuOperation> launched_by(std::uint32_t first, std::vector<GpuOperation>& work);

// Ranges for launches whose thread has none, such as autograd's: in gpuprof's files, table
// LAUNCH_RANGE names the range that was opened last in the process and was still open.
class RangesByTime {
 public:
  explicit RangesByTime(Session& session);

  // The groups of that range and of those around it, each once; empty if the launch has no such
  // range or the range was skipped.
  const std::vector<std::uint32_t>& groups(std::int64_t correlation, const NvtxRanges& ranges);

 private:
  std::vector<std::uint32_t> find(std::int64_t range, const NvtxRanges& all);

  store::Statement launches_, ranges_;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> groups_;  // by range
};

}  // namespace gpuprof::report
