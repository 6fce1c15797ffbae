// What happened in a run, one after the other, for files of other tools.
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

#include "libprof/read/profile.hpp"

namespace gpuprof::exporting {

// GPU work, a call of the CUDA API, an NVTX range or a synchronisation. Its texts are in Texts, or
// there for ever.
struct Activity {
  enum class Group { gpu, api, range, synchronization };
  Group group = Group::gpu;
  // Of GPU work as the view gpu_activities has it ("kernel", "memcpy"), of calls "runtime",
  // "driver" or "internal", of ranges their kind ("push_pop"), else "synchronization".
  std::string_view type;
  std::string_view name;
  std::string_view path;    // NVTX ranges around the launch, " / " between them; empty: none
  std::string_view domain;  // of a range
  std::int64_t start = 0, end = 0;
  std::int64_t process = 0, thread = 0;              // thread: of calls and ranges
  std::int64_t device = 0, context = 0, stream = 0;  // of GPU work
  std::int64_t correlation = 0;                      // 0: none
  bool launches = false;                             // a call: GPU work has its correlation id
  std::optional<std::int64_t> bytes;
  struct Shape {
    std::array<std::int64_t, 3> grid, block;
    std::optional<std::int64_t> registers, static_memory, dynamic_memory;  // nothing: not known
    std::int64_t carveout = -1;  // asked for, percent of the shared memory; -1: none
  };
  std::optional<Shape> shape;  // of a kernel
  struct Metric {
    std::string_view name;
    double value;
  };
  std::vector<Metric> metrics = {};  // what was measured of it

  std::int64_t duration() const { return end - start; }
};

// Each text once. One thread puts them in; who has one may read it on another.
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
  std::int64_t without_times = 0;  // GPU work; not visited
  bool markers_only = false;       // NVTX is there, but its ranges were never put together
};

// Calls visit(activity) in the order of starts, outer ones before inner ones. `processes`: of these
// alone; empty: of all. `texts` outlives the activities. Memory: names, NVTX paths, a bit for each
// correlation id, and rows of a table that come long before their turn: beyond `most_waiting` bytes
// SQLite sorts it.
Visited visit_activities(reading::Profile& profile, const reading::Window& window,
                         const std::vector<std::int64_t>& processes, Texts& texts,
                         const std::function<void(const Activity&)>& visit,
                         std::size_t most_waiting = std::size_t{256} << 20);

}  // namespace gpuprof::exporting
