#include "libprof/conclude/findings/launches.hpp"

#include <algorithm>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::findings {
namespace {

constexpr std::size_t most_sums = 200'000;

std::int64_t product(std::int64_t x, std::int64_t y, std::int64_t z) {
  return saturating_multiply(saturating_multiply(x, y), z);
}

// What one thread has read.
struct Part {
  Launches launches;
  Launches::Key latest_key{};  // kernels come in loops
  Launches::Sum* latest = nullptr;
  bool full = false;

  Launches::Sum* sum_of(const Launches::Key& key) {
    if (latest && Launches::Same()(key, latest_key)) return latest;
    const auto known = launches.sums.find(key);
    if (known == launches.sums.end() && launches.sums.size() == most_sums) {
      full = true;
      return nullptr;
    }
    latest = known == launches.sums.end() ? &launches.sums[key] : &known->second;
    latest_key = key;
    return latest;
  }
};

void add(Launches::Sum& sum, const Launches::Sum& more) {
  sum.ns = saturating_add(sum.ns, more.ns);
  sum.count += more.count;
  sum.longest = std::max(sum.longest, more.longest);
  sum.first = std::min(sum.first, more.first);
  sum.last = std::max(sum.last, more.last);
}

Launches::Key key_of(const columns::Chunk& chunk, std::size_t row) {
  const auto value = [&](std::size_t column) { return whole(chunk[column], row); };
  return {value(2),
          value(3),
          value(4) << 32 | value(5),
          value(6),
          product(value(7), value(8), value(9)),
          product(value(10), value(11), value(12)),
          value(13) + value(14),
          value(15),
          value(16) != 0 ? value(17) : -1,
          value(18)};
}

}  // namespace

// Multiplications that do not wait for one another: a kernel with a new shape each time takes long
// enough to find.
std::size_t Launches::Hash::operator()(const Key& key) const {
  constexpr Key factors{0x2d358dccaa6c78a5, 0x4bb6f8a3e4c1d9f1, 0x1f67b3b7a4a44073,
                        0x78bd642f9d4e1c2b, 0x5851f42d4c957f2d, 0x369dea0f31a53f85,
                        0x6c62272e07bb0143, 0x27d4eb2f165667c5, 0x165667b19e3779f9,
                        0x3c6ef372fe94f82b};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    sum += static_cast<std::uint64_t>(key[i]) * static_cast<std::uint64_t>(factors[i]);
  }
  return static_cast<std::size_t>((sum ^ sum >> 32) * 0x9e3779b97f4a7c15U >> 16);
}

// memcmp() takes longer than all else that is done with a kernel.
bool Launches::Same::operator()(const Key& a, const Key& b) const {
  std::int64_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= a[i] ^ b[i];
  return different == 0;
}

std::optional<Launches> read_launches(store::Snapshot& snapshot,
                                      const compute::AccountWindow& window,
                                      const std::function<void()>& check) {
  check();
  columns::Reader reader(
      snapshot,
      {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
       .columns = {"start", "end", "deviceId", "processId", "contextId", "streamId", "name",
                   "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory",
                   "dynamicSharedMemory", "registersPerThread", "isSharedMemoryCarveoutRequested",
                   "sharedMemoryCarveoutRequested", "localMemoryPerThread"}});
  const auto visit = [window](Part& part, const columns::Chunk& chunk) {
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (start[row] <= 0 || end[row] <= start[row]) continue;
      if (start[row] >= window.last || end[row] <= window.first) continue;
      Launches::Sum* const sum = part.sum_of(key_of(chunk, row));
      if (!sum) return;
      const std::int64_t first = std::max(start[row], window.first),
                         last = std::min(end[row], window.last);
      add(*sum, {.ns = last - first,
                 .count = 1,
                 .longest = end[row] - start[row],
                 .first = first,
                 .last = last});
    }
  };
  std::optional<Launches> all(std::in_place);
  for (Part& part : reader.scan<Part>(visit)) {
    if (part.full) return std::nullopt;
    for (const auto& [key, sum] : part.launches.sums) add(all->sums[key], sum);
    part.launches.sums.clear();
  }
  check();
  return all;
}

std::map<std::int64_t, GraphLaunches> read_graph_launches(store::Snapshot& snapshot,
                                                          const compute::AccountWindow& window,
                                                          const std::function<void()>& check) {
  struct Graphs {
    std::int64_t kernels = 0;
    std::vector<std::int64_t> launches;  // correlation ids
  };
  using ByDevice = std::map<std::int64_t, Graphs>;
  check();
  columns::Reader reader(snapshot,
                         {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                          .columns = {"start", "end", "deviceId", "graphId", "correlationId"}});
  const auto visit = [window](ByDevice& devices, const columns::Chunk& chunk) {
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (whole(chunk[3], row) == 0 || start[row] <= 0 || end[row] <= start[row]) continue;
      if (start[row] >= window.last || end[row] <= window.first) continue;
      Graphs& graphs = devices[whole(chunk[2], row)];
      ++graphs.kernels;
      // Kernels of a launch mostly come together.
      const std::int64_t launch = whole(chunk[4], row);
      if (graphs.launches.empty() || graphs.launches.back() != launch) {
        graphs.launches.push_back(launch);
      }
    }
  };
  ByDevice all;
  for (ByDevice& part : reader.scan<ByDevice>(visit)) {
    for (auto& [device, its] : part) {
      Graphs& graphs = all[device];
      graphs.kernels += its.kernels;
      graphs.launches.insert(graphs.launches.end(), its.launches.begin(), its.launches.end());
      its = {};
    }
  }
  check();
  std::map<std::int64_t, GraphLaunches> found;
  for (auto& [device, graphs] : all) {
    std::ranges::sort(graphs.launches);
    const auto rest = std::ranges::unique(graphs.launches);
    found[device] = {.kernels = graphs.kernels, .launches = rest.begin() - graphs.launches.begin()};
  }
  return found;
}

}  // namespace gpuprof::findings
