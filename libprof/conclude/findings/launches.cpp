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

struct Graphs {
  std::int64_t kernels = 0;
  std::vector<std::int64_t> launches;  // correlation ids

  void add(std::int64_t launch) {
    ++kernels;
    // Kernels of a launch mostly come together.
    if (launches.empty() || launches.back() != launch) launches.push_back(launch);
  }
};

// What one thread has read.
struct Part {
  Launches::Sums sums;
  std::map<std::int64_t, Graphs> graphs;  // by device
  Launches::Key latest_key{};             // kernels come in loops
  Launches::Sum* latest = nullptr;
  bool full = false;

  // Null: there are too many.
  Launches::Sum* sum_of(const Launches::Key& key) {
    if (full || (latest && Launches::Same()(key, latest_key))) return latest;
    const auto known = sums.find(key);
    full = known == sums.end() && sums.size() == most_sums;
    latest = full ? nullptr : known == sums.end() ? &sums[key] : &known->second;
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

Launches read_launches(store::Snapshot& snapshot, const compute::AccountWindow& window,
                       const std::function<void()>& check) {
  check();
  columns::Reader reader(snapshot, {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                    .columns = {"start",
                                                "end",
                                                "deviceId",
                                                "processId",
                                                "contextId",
                                                "streamId",
                                                "name",
                                                "gridX",
                                                "gridY",
                                                "gridZ",
                                                "blockX",
                                                "blockY",
                                                "blockZ",
                                                "staticSharedMemory",
                                                "dynamicSharedMemory",
                                                "registersPerThread",
                                                "isSharedMemoryCarveoutRequested",
                                                "sharedMemoryCarveoutRequested",
                                                "localMemoryPerThread",
                                                "graphId",
                                                "correlationId"}});
  const auto visit = [window](Part& part, const columns::Chunk& chunk) {
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (start[row] <= 0 || end[row] <= start[row]) continue;
      if (start[row] >= window.last || end[row] <= window.first) continue;
      if (whole(chunk[19], row) != 0) part.graphs[whole(chunk[2], row)].add(whole(chunk[20], row));
      Launches::Sum* const sum = part.sum_of(key_of(chunk, row));
      if (!sum) continue;
      const std::int64_t first = std::max(start[row], window.first),
                         last = std::min(end[row], window.last);
      add(*sum, {.ns = last - first,
                 .count = 1,
                 .longest = end[row] - start[row],
                 .first = first,
                 .last = last});
    }
  };
  Launches all{.sums = Launches::Sums(), .graphs = {}};
  std::map<std::int64_t, Graphs> graphs;
  for (Part& part : reader.scan<Part>(visit)) {
    if (part.full) all.sums.reset();
    if (all.sums) {
      for (const auto& [key, sum] : part.sums) add((*all.sums)[key], sum);
    }
    part.sums.clear();
    for (auto& [device, its] : part.graphs) {
      Graphs& more = graphs[device];
      more.kernels += its.kernels;
      more.launches.insert(more.launches.end(), its.launches.begin(), its.launches.end());
      its = {};
    }
  }
  check();
  for (auto& [device, its] : graphs) {
    std::ranges::sort(its.launches);
    const auto rest = std::ranges::unique(its.launches);
    all.graphs[device] = {.kernels = its.kernels, .launches = rest.begin() - its.launches.begin()};
  }
  return all;
}

}  // namespace gpuprof::findings
