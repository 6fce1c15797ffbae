// NVTX ranges, and what was begun inside them.
//
// A call is in a range when it begins in it, on the range's thread. GPU work is where the call that
// launched it is. Memory grows with the number of ranges, calls and GPU operations of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/read/names.hpp"
#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"
#include "schema/gpu_kind.hpp"

namespace gpuprof::report {

// The ranges of one name, in one domain and thread.
struct NvtxGroup {
  std::int64_t process = 0;           // 0 in nvprof's files: they have one process
  std::int64_t thread = 0;            // 0: ranges of the process, of no thread
  std::optional<std::string> domain;  // none: the default domain
  std::string name;
  Total total;  // of the ranges themselves
};

// An API call, or something else that has a thread and a time.
struct NvtxCall {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::uint32_t place = 0;  // from NvtxRanges::place()
  std::uint32_t what = 0;   // for who reads them
  std::uint32_t work = 0;   // of API calls: the first operation launched, see launched_by()
};

class NvtxRanges {
 public:
  // Reads MARKER, which all files have. Ranges that begin outside the time window are left out.
  explicit NvtxRanges(Session& session);

  const std::vector<NvtxGroup>& groups() const { return groups_; }
  // Markers at one end of a range that lacks the other end.
  std::int64_t invalid() const { return invalid_; }
  bool several_processes() const;
  bool any_mark() const { return any_mark_; }

  // The group of a range, which is found by what MARKER has of it; nothing: it is left out.
  std::optional<std::uint32_t> group_of(std::int64_t process, std::int64_t id,
                                        std::int64_t start) const;

  // The number of a thread; nothing: there are no ranges for it.
  std::optional<std::uint32_t> place(std::int64_t process, std::int64_t thread);

  // Sorts the calls. Visits each that is in a range, with the groups that have a range around it:
  // those of its thread, and those of its process. A group is there once, however deep it nests.
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
  // The place of the ranges of the process itself.
  std::optional<std::uint32_t> process_place(std::uint32_t place) const;

  bool has_processes_;
  std::vector<NvtxGroup> groups_;
  std::vector<Range> ranges_;  // by process and start
  std::map<Thread, std::uint32_t> place_numbers_;
  std::vector<Thread> places_;
  std::int64_t invalid_ = 0;
  bool any_mark_ = false;
};

struct GpuOperation {
  std::int64_t correlation = 0;
  std::int64_t duration = 0;
  std::uint32_t what = 0;
  bool from_device = false;  // launched there (CDP)
  bool counted = false;      // for who reads them
};

// All work of GPUs, by correlation id. `what` numbers it by kind and GpuKind::named_by.
std::vector<GpuOperation> read_gpu_work(
    Session& session,
    const std::function<std::uint32_t(const schema::GpuKind& kind, std::int64_t id)>& what);

// The calls of RUNTIME and DRIVER that have a place and launched some of the work. `what` numbers
// functions. `elsewhere` gets those that launched some and have no place.
std::vector<NvtxCall> read_launches(
    Session& session, NvtxRanges& ranges, const std::vector<GpuOperation>& work,
    const std::function<std::uint32_t(ApiDomain, std::int64_t cbid)>& what,
    std::vector<NvtxCall>& elsewhere);
// `first`: NvtxCall::work.
std::span<GpuOperation> launched_by(std::uint32_t first, std::vector<GpuOperation>& work);

// The ranges of launches whose thread has none, such as those of autograd: table LAUNCH_RANGE, in
// files of ours, says which was opened last in the process and still open.
class RangesByTime {
 public:
  explicit RangesByTime(Session& session);

  // The groups of the range and those around it, each once; none: it has no such range, or that is
  // left out.
  const std::vector<std::uint32_t>& groups(std::int64_t correlation, const NvtxRanges& ranges);

 private:
  std::vector<std::uint32_t> find(std::int64_t range, const NvtxRanges& all);

  store::Statement launches_, ranges_;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> groups_;  // by range
};

}  // namespace gpuprof::report
