// The activities of a run, one after the other, for other tools' file formats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/columns/ordered_rows.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::exporting {

// GPU work, a CUDA API call, an NVTX range or a synchronization. Its texts are in Texts or static.
struct Activity {
  enum class Group { gpu, api, range, synchronization };
  Group group = Group::gpu;
  // GPU work: as in the view gpu_activities ("kernel", "memcpy"); calls: "runtime", "driver" or
  // "internal"; ranges: their kind ("push_pop"); otherwise "synchronization".
  std::string_view type;
  std::string_view name;
  std::string_view path;    // NVTX ranges around the launch, joined by " / "; empty: none
  std::string_view domain;  // for ranges
  std::int64_t start = 0, end = 0;
  std::int64_t process = 0, thread = 0;              // thread: for calls and ranges
  std::int64_t device = 0, context = 0, stream = 0;  // for GPU work
  std::int64_t correlation = 0;                      // 0: none
  std::int64_t node = 0;                             // of a CUDA graph, for GPU work; 0: none
  bool launches = false;                             // for calls: GPU work has its correlation id
  std::optional<std::int64_t> bytes;
  struct Shape {
    std::array<std::int64_t, 3> grid, block;
    std::optional<std::int64_t> registers, static_memory, dynamic_memory;  // nullopt: unknown
    std::int64_t carveout = -1;  // requested, percent of the shared memory; -1: none
  };
  std::optional<Shape> shape;  // for kernels
  struct Metric {
    std::string_view name;
    double value;
  };
  std::vector<Metric> metrics = {};  // measured values

  std::int64_t duration() const { return end - start; }
};

// Stores each text once. One thread adds texts; they may be read on any thread.
class Texts {
 public:
  std::string_view keep(std::string_view text) {
    const auto found = all_.find(text);
    return found != all_.end() ? *found : *all_.emplace(text).first;
  }

 private:
  std::set<std::string, std::less<>> all_;
};

struct Visited {
  std::int64_t activities = 0;
  std::int64_t without_times = 0;  // GPU work that was not visited
  bool markers_only = false;       // there are NVTX markers, but ranges were never computed
};

// Calls visit(activity) in start order, outer ones before inner ones. `processes`: only these;
// empty: all. `texts` must outlive the activities. Memory: names, NVTX paths, one bit per
// correlation id, and rows of a table that come long before their turn: beyond `most_waiting` bytes
// SQLite sorts the table.
Visited visit_activities(reading::Profile& profile, const reading::Window& window,
                         const std::vector<std::int64_t>& processes, Texts& texts,
                         const std::function<void(const Activity&)>& visit,
                         std::size_t most_waiting = columns::OrderedRows::most_waiting);

// The same of GPU work alone: nothing else is read. Its `launches` are not known.
void visit_gpu_work(reading::Profile& profile, Texts& texts,
                    const std::function<void(const Activity&)>& visit);

}  // namespace gpuprof::exporting
